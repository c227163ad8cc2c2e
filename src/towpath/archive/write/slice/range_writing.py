"""Writing of a range as consecutive segments."""

from __future__ import annotations

from functools import partial

import numpy as np

from towpath.archive.config.segments import SegmentLimits
from towpath.archive.format.footer import SegmentHead
from towpath.archive.format.segment_writer import SegmentWriter
from towpath.archive.format.uploads import Uploads
from towpath.archive.model import BatchMark, GapKind, Segment
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.range_reader import FetchedPart, Hole, mark_before
from towpath.archive.write.slice.segment_objects import (
    Made,
    SegmentObject,
    SharedObject,
    WritingTerms,
)
from towpath.model.errors import TowpathError
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason
from towpath.wire import batch as wire

_MOST_WHOLE = 8 << 20
"""Bytes of a segment that is kept in memory until it is complete, as its object is shared."""
_STEP = 8 << 20
"""Bytes that are opened at a time, as far as the compression ratio so far tells."""


class RangeWriting:
    """Writes the segments of one range, in order.

    Args:
        work: The range.
        limits: When a segment is complete.
        uploads: Writes objects.
        terms: How keys are made.
        shared: The object that its segments go into, `None` for objects of their own.

    Attributes:
        made: The segments that are complete.
    """

    def __init__(
        self,
        work: PlannedRange,
        limits: SegmentLimits,
        uploads: Uploads,
        terms: WritingTerms,
        shared: SharedObject | None = None,
    ) -> None:
        self._work, self._limits, self._uploads = work, limits, uploads
        self._terms, self._shared = terms, shared
        self.made: list[Made] = []
        self._object: SegmentObject | None = None
        self._writer: SegmentWriter | None = None
        self._next = work.start
        self._taken = 0
        """Bytes of batches in the present segment, as the source holds them."""
        self._tail: BatchMark | None = None

    @property
    def next(self) -> SourceOffset:
        """The next offset to write."""
        return self._writer.expected if self._writer is not None else self._next

    @property
    def held(self) -> int:
        """Bytes of records in memory that are not written yet."""
        return self._writer.held if self._writer is not None else 0

    def will_be_full(self, waiting: int) -> bool:
        """Return whether the waiting bytes probably complete the segment."""
        writer = self._writer
        if writer is None or not self._taken:
            return False
        expected = writer.raw_bytes * (1 + waiting / self._taken)
        return expected >= self._limits.bytes

    def write(self, item: FetchedPart | Hole) -> None:
        """Write a fetched part or a hole to the current segment.

        Raises:
            CorruptBatchError: The batch at `next` is damaged; those before it were written.
        """
        if isinstance(item, Hole):
            self._open().pass_over(item.end, item.kind)
            return
        last = int(item.table[-1, wire.LAST]) + 1
        while self.next < min(last, self._work.end):
            writer, before = self._open(), self.next
            writer.take(
                item.frame.buffer, item.start, item.end, item.aborted, until=self._until(item)
            )
            if self.next == before:  # the next batch begins behind the range
                writer.pass_over(self._work.end, GapKind.COMPACTED)
            self._note(item.table, before)
            if not item.modernised:
                self._tail = mark_before(item.table, self.next) or self._tail
            if self._is_full:
                self._cut(writer.expected)

    def flush(self) -> None:
        """Write waiting records to free memory, as the range has stalled."""
        if self._writer is not None and self._shared is None:
            self._writer.flush()

    def finish(self, *, whole: bool) -> None:
        """End the last segment.

        Args:
            whole: Whether nothing is left of the range; otherwise it ends behind what was written.
        """
        self._cut(self._work.end if whole else self.next)
        if self._shared is not None:
            self._shared.open -= 1
            if not self._shared.open:
                self._shared.upload(self._uploads)

    def drop(self) -> None:
        """Discard the incomplete segment."""
        if self._object is not None:
            self._object.drop()

    def result(self) -> tuple[tuple[Segment, ...], Reason | None]:
        """Return the stored segments up to the first failed upload, and its reason."""
        found: list[Segment] = []
        for made in self.made:
            try:
                found.append(made.segment(self._terms.format, self._uploads.storage_class))
            except TowpathError as error:
                return tuple(found), error.reason
        return tuple(found), None

    def _open(self) -> SegmentWriter:
        if self._writer is None:
            if self._shared is None:
                self._object = SegmentObject(self._terms.format)
            target = self._shared.object if self._shared is not None else self._object
            assert target is not None  # noqa: S101  # made above
            head = SegmentHead(
                cluster=self._work.id.cluster,
                topic_id=self._work.id.topic_id,
                topic=self._work.topic,
                partition=self._work.id.partition,
                start=self._next,
            )
            self._writer = target.file.segment(
                head,
                end=self._work.end,
                left_out=self._terms.left_out.get(self._work.id.source.topic_id, ()),
                whole=self._shared is not None,
            )
        return self._writer

    @property
    def _is_full(self) -> bool:
        writer, limits = self._writer, self._limits
        if writer is None:
            return False
        is_large = self._shared is not None and writer.held >= _MOST_WHOLE
        return is_large or writer.raw_bytes >= limits.bytes or writer.records >= limits.messages

    def _until(self, part: FetchedPart) -> SourceOffset:
        """Return the offset behind the batch that probably completes the segment.

        How large opened batches are shows from those before them, so the first one comes alone.
        """
        writer, limits = self._open(), self._limits
        rows = part.table[part.table[:, wire.LAST] >= writer.expected]
        ratio = max(1.0, writer.raw_bytes / self._taken) if self._taken else float(_STEP)
        room = min(_STEP, limits.bytes - writer.raw_bytes)
        is_reached = np.cumsum(rows[:, wire.LENGTH]) * ratio >= room
        is_reached |= np.cumsum(rows[:, wire.COUNT]) >= limits.messages - writer.records
        at = int(is_reached.argmax()) if is_reached.any() else len(rows) - 1
        return SourceOffset(int(rows[at, wire.LAST]) + 1)

    def _note(self, table: wire.Table, before: SourceOffset) -> None:
        done = (table[:, wire.LAST] >= before) & (table[:, wire.LAST] < self.next)
        self._taken += int(table[done, wire.LENGTH].sum())

    def _cut(self, end: SourceOffset) -> None:
        """Complete the present segment, so that it ends at an offset."""
        if end <= self._next:
            return
        writer = self._open()
        footer = writer.close(end, GapKind.COMPACTED)
        made = Made(footer, tail=self._tail)
        self.made.append(made)
        if self._shared is not None:
            self._shared.made.append(made)
        elif self._object is not None:
            spool = self._object.close()
            if spool is not None:
                made.object = self._uploads.put(spool, partial(self._terms.key, footer))
        self._writer = self._object = None
        self._next, self._taken = end, 0
