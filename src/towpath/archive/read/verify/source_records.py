"""Comparison of a segment's records with those that the source still has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from towpath.archive.format.either_format import SegmentObjectReader
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parts import PackedBatches
from towpath.archive.model import GapKind, PartitionId, Segment
from towpath.compare.cursor import Cursor, Piece, Reader
from towpath.compare.join import Portion
from towpath.model.errors import ClusterError
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.wire import batch as wire
from towpath.wire.digest import Hashes

LEFT_OUT = (GapKind.FILTERED, GapKind.ERASED, GapKind.LOST, GapKind.RETENTION)
"""Gaps where the source may have records, and the archive says that it has none."""
Found = tuple[wire.Table, Hashes]
"""Offsets and hashes of records, in order."""


@dataclass(slots=True)
class Against:
    """The result of comparing a segment with the source.

    Attributes:
        compared: Records that are the same at the source.
        gone: Records that only the archive has, as retention or compaction removed them since.
        uncompared: Why the source could not be asked, "" if it was.
        problem: How the source and the archive contradict each other, "" if they do not.
    """

    compared: int = 0
    gone: int = 0
    uncompared: str = ""
    problem: str = ""


class ComparedSource:
    """Reads the source of an archive, for comparison.

    Args:
        reader: Its connections.
        compacted: The topics whose logs are compacted.
        over: Up to where histories count which another one has followed.
    """

    def __init__(
        self,
        reader: Reader,
        compacted: frozenset[TopicName],
        over: Mapping[PartitionId, int] = MappingProxyType({}),
    ) -> None:
        self._reader, self._compacted, self._over = reader, compacted, over

    def compare(
        self, segment: Segment, file: SegmentObjectReader | None, footer: SegmentFooter | None
    ) -> Against:
        """Compare a segment with the source's records of the same offsets.

        Args:
            segment: The segment.
            file: Its object, `None` if it needs none.
            footer: What the object says of it.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        made = Against()
        try:
            made.uncompared = self._absent(segment)
            if made.uncompared:
                return made
            tp = TopicPartition(segment.topic, segment.partition)
            end = min(segment.end, self._over.get(segment.partition_id, segment.end))
            theirs = SourceRecords(Cursor(self._reader, tp, segment.start, end, None))
            window = _Windows(end, theirs, made, cleans=segment.topic in self._compacted)
            if file is not None and footer is not None:
                window.records_of(file, footer)
            elif not any(segment.gaps.get(kind) for kind in LEFT_OUT):
                window.take(PackedBatches(bytearray(), SourceOffset(end)), None)
        except ClusterError as error:
            made.uncompared = str(error)
        return made

    def _absent(self, segment: Segment) -> str:
        over = self._over.get(segment.partition_id)
        if over is not None and segment.start >= over:
            return f"the source has another history from offset {over} on"
        info = self._reader.admin.topics.find(segment.topic)
        if info is None or (info.id and info.id != segment.partition_id.source.topic_id):
            return "the topic is no more at the source"
        if segment.partition not in {each.partition for each in info.partitions}:
            return "the partition is no more at the source"
        return ""


class SourceRecords:
    """The committed records of a partition at the source, read in windows."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    @property
    def position(self) -> int:
        """The offset up to which records have been read."""
        return self._cursor.position

    @property
    def log_start(self) -> int:
        """The log start offset, as last seen."""
        return self._cursor.log_start

    def upto(self, end: int) -> Found:
        """Return offsets and hashes of the records before an offset."""
        cursor = self._cursor
        found = [(np.empty(0, np.int64), np.empty(0, np.uint64))]
        while cursor.position < end and not cursor.done:
            cursor.fill()
            stop = min(end, cursor.have)
            found.append(Portion(cursor.before(stop), cursor.position, stop).hashes())
            cursor.advance(stop)
        offsets, hashes = zip(*found, strict=True)
        return np.concatenate(offsets), np.concatenate(hashes)


class _Windows:
    """Compares a segment piece by piece, so that neither side is in memory as a whole."""

    def __init__(self, until: int, theirs: SourceRecords, made: Against, *, cleans: bool) -> None:
        self._until, self._theirs, self._made, self._cleans = until, theirs, made, cleans

    def records_of(self, file: SegmentObjectReader, footer: SegmentFooter) -> None:
        """Compare all records of the segment, up to the first difference."""
        for ours in file.batches(footer):
            self.take(ours, footer)
            if self._made.problem or self._theirs.position >= self._until:
                return
        self.take(PackedBatches(bytearray(), SourceOffset(self._until)), footer)

    def take(self, ours: PackedBatches, footer: SegmentFooter | None) -> None:
        """Compare the records up to the end of some batches."""
        made, theirs = self._made, self._theirs
        first, end = theirs.position, min(ours.end, self._until)
        if end <= first:
            return
        offsets, hashes = portion(ours, first, end)
        there, wanted = theirs.upto(end)
        _, mine, other = np.intersect1d(offsets, there, return_indices=True)
        differ = offsets[mine][hashes[mine] != wanted[other]]
        lacking = np.setdiff1d(there, offsets)
        lacking = lacking[~left_out(footer, lacking)]
        alone = np.setdiff1d(offsets, there)
        lost = int((alone >= theirs.log_start).sum())
        made.compared += len(mine) - len(differ)
        made.gone += len(alone)
        if len(differ):
            made.problem = f"the record at offset {differ[0]} is another one at the source"
        elif len(lacking):
            made.problem = f"the source has a record at offset {lacking[0]}, and the archive none"
        elif lost and not self._cleans:
            made.problem = (
                f"the source lacks {lost} of these records, and neither retention nor compaction"
                " removed them"
            )


def portion(ours: PackedBatches, first: int, end: int) -> Found:
    """Return the visible records of some batches within [first, end)."""
    if not ours.data:
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    buffer = np.frombuffer(ours.data, np.uint8)
    table = wire.scan(buffer, 0, len(buffer))
    seen = wire.visible(table, ours.aborted) & (table[:, wire.COUNT] > 0)
    return Portion([Piece(buffer, table[seen])], first, end).hashes()


def left_out(footer: SegmentFooter | None, offsets: wire.Table) -> wire.Mask:
    """Return which offsets the archive lists as deliberately left out."""
    mask: wire.Mask = np.zeros(len(offsets), np.bool_)
    for gap in footer.gaps if footer is not None and len(offsets) else ():
        if gap.kind in LEFT_OUT:
            mask |= (offsets >= gap.first) & (offsets < gap.end)
    return mask


Compare = Callable[[Segment, SegmentObjectReader | None, SegmentFooter | None], Against]
"""See `ComparedSource.compare`."""
