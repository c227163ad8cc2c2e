"""Import of one slice on Spark: read objects of kafka-replicator, and write our segments.

Records go through batches, as those of a broker do, so digests, gaps and footers are made by the
writer that an archive has anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from towpath.archive.format.either_format import SegmentObjectWriter, write_object
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.packing import pack_rows
from towpath.archive.format.segment_writer import SegmentWriter
from towpath.archive.format.spool import Spool
from towpath.archive.format.uploads import written_anew
from towpath.archive.imports.bucket_layout import ReplicatorPiece
from towpath.archive.imports.import_work import ImportResult, ImportSlice
from towpath.archive.imports.replicator_rows import Doubts, ReplicatorFile
from towpath.archive.keys import segment_key, unique
from towpath.archive.model import STREAMING, GapKind, Segment, SegmentPlace
from towpath.model.errors import TowpathError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.store import Store, StoredObject
from towpath.wire.codec import NONE


def import_rows(work: ImportSlice) -> Iterator[pa.RecordBatch]:
    """Import a slice for the engine. Yields one row of `SCHEMA`."""
    yield pa.RecordBatch.from_pydict({"imported": [imported(work).to_json()]})


def imported(work: ImportSlice) -> ImportResult:
    """Import the pieces of a slice, up to the first one that cannot be read or written."""
    with ExitStack() as stack:
        theirs = stack.enter_context(Store(work.theirs))
        ours = stack.enter_context(Store(work.store))
        importing = _Importing(work, theirs, ours)
        why = ""
        try:
            for piece in work.pieces:
                importing.take(piece)
            importing.cut()
        except TowpathError as error:
            why = str(error)
            with suppress(TowpathError):
                importing.cut()  # what was read before is right
            importing.drop()
        return ImportResult(
            id=work.id, segments=tuple(importing.made), why=why, doubts=importing.doubts
        )


@dataclass(slots=True)
class _Importing:
    """The segments of a slice that are written one by one.

    Attributes:
        made: The segments that are complete.
        doubts: What the files do not tell of them.
    """

    work: ImportSlice
    theirs: Store
    ours: Store
    made: list[Segment] = field(default_factory=list)
    doubts: Doubts = field(default_factory=Doubts)
    _fresh: Doubts = field(default_factory=Doubts)
    _spool: Spool | None = None
    _object: SegmentObjectWriter | None = None
    _writer: SegmentWriter | None = None

    def take(self, piece: ReplicatorPiece) -> None:
        """Archive one piece of the imported topic: its records, or a gap where it has none.

        Raises:
            CorruptSegmentError: The object is damaged.
            StoreError: A store could not be used.
        """
        writer = self._opened(piece.start)
        if piece.source is None:
            writer.pass_over(piece.end, kind_of(piece))
            return
        with self.theirs.reader(piece.source.key, piece.source.size) as source:
            file = ReplicatorFile(source, piece.source, self.work.rules, self._fresh)
            for rows in file.rows(piece.start, piece.end):
                data = np.frombuffer(pack_rows(rows, NONE), np.uint8)
                writer = self._opened(writer.expected)
                writer.take(data, 0, len(data))
                limits = self.work.limits
                if writer.raw_bytes >= limits.bytes or writer.records >= limits.messages:
                    self.cut()
        writer = self._opened(self.made[-1].end if self._writer is None else writer.expected)
        if writer.expected < piece.end:
            writer.pass_over(piece.end, GapKind.COMPACTED)

    def cut(self) -> None:
        """Complete the current segment and write its object.

        Raises:
            StoreError: It could not be written.
        """
        writer, target = self._writer, self._object
        if writer is None or target is None or writer.expected <= writer.head.start:
            return
        footer = writer.close(writer.expected)
        target.close()
        self.made.append(self._segment(footer))
        self.doubts.add(self._fresh)
        self.drop()

    def drop(self) -> None:
        """Discard the incomplete segment."""
        if self._spool is not None:
            self._spool.close()
        self._spool = self._object = self._writer = None
        self._fresh = Doubts()

    def _opened(self, start: SourceOffset) -> SegmentWriter:
        if self._writer is None:
            head = SegmentHead(
                cluster=self.work.id.cluster,
                topic_id=self.work.id.topic_id,
                topic=self.work.topic,
                partition=self.work.id.partition,
                start=start,
            )
            self._object = write_object(SegmentFormat.PARQUET, self._begun)
            self._writer = self._object.segment(head)
        return self._writer

    def _begun(self) -> Spool:
        self._spool = Spool()
        return self._spool

    def _segment(self, footer: SegmentFooter) -> Segment:
        if not footer.parts:
            return footer.segment(SegmentFormat.PARQUET, None)
        found = self._stored(footer)
        place = SegmentPlace(
            key=found.key,
            size=found.size,
            row_groups=len(footer.parts),
            storage_class=self.work.store.class_of(STREAMING),
            crc=found.crc,
        )
        return footer.segment(SegmentFormat.PARQUET, place)

    def _stored(self, footer: SegmentFooter) -> StoredObject:
        """Write the object; a dead import may have left one with its key."""
        return written_anew(partial(self._put, footer), unique() if self.work.again else "")

    def _put(self, footer: SegmentFooter, attempt: str) -> StoredObject:
        assert self._spool is not None  # noqa: S101  # the object has a record
        key = segment_key(
            self.work.region,
            self.work.topic,
            self.work.id.partition,
            STREAMING,
            footer.head.start,
            footer.end,
            attempt=attempt,
            spread=self.work.store.spread,
        )
        with self.ours.writer(key, self.work.store.class_of(STREAMING), lock=True) as out:
            self._spool.copy(out)
            return out.close()


def kind_of(hole: ReplicatorPiece) -> GapKind:
    """Return the most likely reason why the offsets between two objects have no records.

    A single one is a transaction marker nearly always. More of them may be an aborted transaction,
    or what compaction took, but also an object that was lost, so that is what they count as.
    """
    return GapKind.MARKER if hole.end - hole.start == 1 else GapKind.LOST
