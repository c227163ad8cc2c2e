"""The supply of a partition that is archived in segments.

Objects are opened when the reading comes to them, the next one while the present one is read. An
object that a compaction has replaced meanwhile is found again under its new key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from towpath.archive.errors import CorruptSegmentError, WithheldError
from towpath.archive.format.either_format import SegmentObjectReader, read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.gaps import Gaps
from towpath.archive.format.wanted import Wanted
from towpath.archive.model import GapKind, PartitionId, Segment, SegmentPlace
from towpath.archive.read.feed.encoding import NO_VOIDS, chunks, encoded, nothing
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.archive.read.feed.supply import Chunk, Chunks
from towpath.model.errors import ObjectChangedError, ObjectColdError, ObjectMissingError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.wire import sifting
from towpath.wire.batch import BASE, LAST, LENGTH, POSITION, Table, scan

AT_ONCE = 500
"""Segments to look up at once: each becomes an object of Python."""
_ROW_GROUP, _DECODED = 64 << 20, 16 << 20
"""Most bytes of a row group, and bytes of the rows and batches that are made of it at once."""
_AS_IN_A_LOG = (sifting.MARKER, sifting.ABORTED)
"""Gaps that a source's log has, too; a mirror fills them without counting."""


Picked = tuple[pa.RecordBatch, SourceOffset]
"""Rows that were picked, and the archived offset behind all that were looked at."""


class SegmentArchive(Protocol):
    """Protocol for finding segments and opening their objects. Threads may share it."""

    def segments(
        self, partition: PartitionId, first: SourceOffset, end: SourceOffset
    ) -> Sequence[Segment]:
        """Return the first segments, about `AT_ONCE`, that overlap the offsets [first, end).

        Segments of one history are returned, that which has offset `first`, or the next one.
        """
        ...

    def until(self, partition: PartitionId, first: SourceOffset) -> SourceOffset:
        """Return the end of the history that has an offset, or that has the next archived one.

        It is the offset itself if there is nothing behind it.
        """
        ...

    def begin(self, partition: PartitionId) -> SourceOffset:
        """Return the first archived offset of a partition; earlier ones were pruned."""
        ...

    def refresh(self) -> bool:
        """Read new entries of the commit log. Returns whether there were any."""
        ...

    def open(self, key: str) -> Any:
        """Open an object as a file that pyarrow can read.

        Raises:
            StoreError: The store does not have it, or does not give it.
        """
        ...


Pick = Callable[[SegmentObjectReader, SegmentFooter, Wanted], Iterator[Picked]]


class SegmentSupply:
    """Supplies the records of an archived partition; implements `Supply`.

    Args:
        archive: The archive.
        wanted: What is read.
        threads: Open objects ahead.
        pick: Reads only some of the records of a segment, at offsets of their own. Nothing stands
            for the others then.
    """

    def __init__(
        self,
        archive: SegmentArchive,
        wanted: ArchivedRange,
        threads: ThreadPoolExecutor,
        pick: Pick | None = None,
    ) -> None:
        self._archive, self._wanted, self._pick = archive, wanted, pick
        self._ahead = _Ahead(archive, threads)
        self._stop = wanted.end
        """Up to where segments of the present history count."""

    @property
    def weight(self) -> int:
        """Approximate bytes of memory that reading takes: a row group, and its batches."""
        partition, first, end = self._wanted.partition, self._wanted.start, self._wanted.end
        places = (each.place for each in self._archive.segments(partition, first, end))
        groups = [each.size // max(1, each.row_groups) for each in places if each is not None]
        return _DECODED + min(_ROW_GROUP, max(groups, default=0))

    def read(self, first: SourceOffset) -> Chunks:
        """Yield the batches from offset `first` on, in order, to the end of the restored range."""
        at, told, end = max(first, self._wanted.start), first, self._wanted.end
        try:
            while at < end:
                for chunk in self._pass(at):
                    at, told = chunk.end, chunk.told
                    yield chunk
        finally:
            self._ahead.close()
        if told < end and self._pick is None:  # else nobody would know that the last ones are gone
            yield Chunk(nothing(end - 1, end), end)

    def _pass(self, first: SourceOffset) -> Chunks:
        """Yield the chunks of the next segments, until a compaction has replaced an object."""
        at = first
        partition = self._wanted.partition
        self._stop = min(self._wanted.end, self._archive.until(partition, first))
        segments = self._archive.segments(partition, first, self._wanted.end)
        if not segments:
            raise self._uncovered(first, self._wanted.end)
        for segment, following in pairwise([*segments, None]):
            assert segment is not None  # noqa: S101  # only the last one is
            if segment.start > at:
                raise self._uncovered(at, segment.start)
            self._ahead.open(following)
            try:
                for chunk in self._segment(segment, at):
                    at = chunk.end
                    yield chunk
            except (ObjectMissingError, ObjectChangedError) as error:
                if self._is_elsewhere(segment, at):
                    return
                assert segment.place is not None  # noqa: S101  # an object was asked for
                missing = Reason.of(ReasonCode.ARCHIVE_MISSING, key=segment.place.key)
                raise self._withheld(segment, at, missing) from error
            except ObjectColdError as error:
                raise self._withheld(segment, at, error.reason) from error
            except CorruptSegmentError as error:
                damaged = Reason.of(ReasonCode.ARCHIVE_DAMAGED, key=error.name, why=error.why)
                raise self._withheld(segment, at, damaged) from error

    def _withheld(self, segment: Segment, at: SourceOffset, why: Reason) -> WithheldError:
        return WithheldError(at, min(segment.end, self._stop), why)

    def _is_elsewhere(self, segment: Segment, at: SourceOffset) -> bool:
        """Whether the commit log names another object for an offset by now, or none any more."""
        self._archive.refresh()
        now = self._archive.segments(self._wanted.partition, at, SourceOffset(at + 1))
        return not now or now[0].place != segment.place

    def _uncovered(self, first: SourceOffset, end: SourceOffset) -> WithheldError:
        """Return the error of offsets that no segment has."""
        begin = self._archive.begin(self._wanted.partition)
        if first >= begin:
            return WithheldError(first, end, Reason.of(ReasonCode.ARCHIVE_UNCOVERED))
        end = min(end, begin)
        pruned = Reason.of(ReasonCode.ARCHIVE_PRUNED)
        return WithheldError(first, end, pruned, is_final=True)

    def _segment(self, segment: Segment, first: SourceOffset) -> Chunks:
        """Yield the chunks of one segment from offset `first` on."""
        end = min(segment.end, self._stop)
        if segment.place is None:
            alone = _gaps_alone(segment, first, end)
            yield alone if self._pick is None else Chunk(bytearray(), end)
            return
        reader = self._ahead.take(segment.format, segment.place.key)
        footer = _footer(reader, segment, segment.place)
        if self._pick is not None:
            for rows, at in self._pick(reader, footer, Wanted(first, end)):
                yield Chunk(encoded(rows, self._wanted.codec, self._wanted.batch_bytes), at)
            yield Chunk(bytearray(), end)
            return
        voids = _voids(footer.gaps.between(first, end))
        read = self._whole if segment.format is SegmentFormat.BATCHES else self._packed
        at = first
        for chunk in read(reader, footer, Wanted(first, end), voids):
            at = chunk.end
            yield chunk
        yield _trailing(voids[voids[:, 1] > at], at, end)

    def _packed(
        self, reader: SegmentObjectReader, footer: SegmentFooter, wanted: Wanted, voids: Table
    ) -> Chunks:
        """Yield batches that are made of rows."""
        pieces = reader.columns(footer, wanted, append_time=False)
        yield from chunks(pieces, self._wanted.codec, self._wanted.batch_bytes, voids)

    def _whole(
        self, reader: SegmentObjectReader, footer: SegmentFooter, wanted: Wanted, voids: Table
    ) -> Chunks:
        """Yield batches as they were fetched; what is behind the end is left out."""
        at = wanted.first
        for part in reader.batches(footer, wanted):
            table = scan(np.frombuffer(part.data, np.uint8), 0, len(part.data))
            base = int(table[0, BASE])
            if base > at:  # the object does not have what lies between, as it holds no record
                yield _trailing(_clipped(voids, at, base), SourceOffset(at), SourceOffset(base))
            inside = int((table[:, LAST] < wanted.end).sum())
            if inside:
                cut = int(table[inside - 1, POSITION] + table[inside - 1, LENGTH])
                at = max(at, int(table[inside - 1, LAST]) + 1)  # those before are passed over
                yield Chunk(part.data[:cut], SourceOffset(at), SourceOffset(at), part.aborted)
            if inside < len(table):
                begun = Wanted(max(at, int(table[inside, BASE])), wanted.end)
                yield from self._packed(reader, footer, begun, _clipped(voids, *_both(begun)))
                return


def _both(wanted: Wanted) -> tuple[int, int]:
    return wanted.first, wanted.end


def _clipped(voids: Table, first: int, end: int) -> Table:
    """Return the parts of voids within [first, end)."""
    some = voids[(voids[:, 1] > first) & (voids[:, 0] < end)].copy()
    return np.clip(some, first, end)


class _Ahead:
    """Opens the next object while the present one is read. One reading at a time."""

    def __init__(self, archive: SegmentArchive, threads: ThreadPoolExecutor) -> None:
        self._archive, self._threads = archive, threads
        self._opening: dict[str, Future[SegmentObjectReader]] = {}
        self._reader: SegmentObjectReader | None = None

    def open(self, segment: Segment | None) -> None:
        """Start to open the object of a segment in a thread."""
        if segment is not None and segment.place is not None:
            key = segment.place.key
            if key not in self._opening:
                self._opening[key] = self._threads.submit(self._open, segment.format, key)

    def take(self, kind: SegmentFormat, key: str) -> SegmentObjectReader:
        """Return the reader of an object; the previous reader is closed.

        Raises:
            StoreError: The store does not have the object, or does not give it.
            CorruptSegmentError: It is damaged.
        """
        opening = self._opening.pop(key, None)
        made = opening.result() if opening is not None else self._open(kind, key)
        self._close_reader()
        self._reader = made
        return made

    def close(self) -> None:
        """Close open readers, and those that are being opened."""
        for opening in self._opening.values():
            opening.add_done_callback(_closed)
        self._opening.clear()
        self._close_reader()

    def _close_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _open(self, kind: SegmentFormat, key: str) -> SegmentObjectReader:
        return read_object(kind, self._archive.open(key), key)


def _closed(opening: Future[SegmentObjectReader]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _footer(reader: SegmentObjectReader, segment: Segment, place: SegmentPlace) -> SegmentFooter:
    """Return the footer of a segment.

    Raises:
        CorruptSegmentError: The object does not hold the segment that the commit log names.
    """
    footer = reader.segment(place.first_row_group)
    footer.require_holds(segment, reader.name)
    return footer


def _voids(gaps: Gaps) -> Table:
    """Return the gaps that a log has, too; those that touch are one."""
    table = gaps.table[np.isin(gaps.table[:, 2], _AS_IN_A_LOG)]
    if not len(table):
        return NO_VOIDS
    begins = np.append(True, table[1:, 0] != table[:-1, 1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(table)) - 1
    return np.stack((table[first, 0], table[last, 1]), 1)


def _trailing(voids: Table, at: SourceOffset, end: SourceOffset) -> Chunk:
    """Return what is behind the last record of a segment."""
    data = bytearray()
    for first, stop in voids.tolist():
        data += nothing(first, stop)
        at = SourceOffset(stop)
    return Chunk(data, end, told=at)


def _gaps_alone(segment: Segment, first: SourceOffset, end: SourceOffset) -> Chunk:
    """Return what stands for a segment without records, whose log tells no order of its gaps."""
    counts = segment.gaps
    as_in_a_log = counts.get(GapKind.MARKER) + counts.get(GapKind.ABORTED)
    if as_in_a_log < counts.total:
        return Chunk(bytearray(), end, told=first)
    return Chunk(nothing(first, end), end, told=end)
