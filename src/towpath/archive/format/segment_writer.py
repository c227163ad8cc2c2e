"""Base of the writers of one segment, for both formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Protocol

from towpath.archive.format.footer import SegmentFooter, SegmentHead, SegmentPart
from towpath.archive.format.gaps import Gaps, number_of
from towpath.archive.model import GapKind
from towpath.model.nouns import SourceOffset
from towpath.runtime.clock import now_ms
from towpath.wire.aborted import Aborted
from towpath.wire.batch import NO_END, Buffer
from towpath.wire.collector import Collector
from towpath.wire.intake import CollectedBatches, collect


class Footers(Protocol):
    """Protocol of an object that collects the footers of its segments."""

    def add(self, footer: SegmentFooter) -> None:
        """Add the footer of a finished segment."""


class SegmentWriter(ABC):
    """Writes the records of one partition as one segment of an object.

    Attributes:
        head: What is known of the segment.
    """

    def __init__(
        self,
        target: Footers,
        head: SegmentHead,
        end: SourceOffset | None,
        left_out: Collection[int],
    ) -> None:
        """Begin a segment.

        Args:
            target: The object.
            head: What is known of the segment.
            end: Records from this offset on are left out; None for no bound.
            left_out: Producer ids whose records are filtered out.
        """
        self.head = head
        self._footers, self._left_out = target, left_out
        self._collector = Collector(head.start, NO_END if end is None else end)
        self._first_row_group = 0
        self._parts: list[SegmentPart] = []

    @property
    def expected(self) -> SourceOffset:
        """The next expected offset."""
        return SourceOffset(self._collector.expected)

    @property
    def records(self) -> int:
        """Number of records written so far."""
        return self._collector.digest.records

    @property
    def raw_bytes(self) -> int:
        """Bytes of keys, values and headers plus 16 for each record, written so far."""
        return self._collector.raw_bytes

    @property
    def held(self) -> int:
        """Bytes in memory that are not written yet."""
        return self._collector.held

    def take(
        self, buffer: Buffer, start: int, end: int, aborted: Aborted = (), until: int = NO_END
    ) -> None:
        """Add fetched batches; the caller may reuse the buffer after the call.

        Args:
            buffer: Bytes as a broker sent them.
            start: Position of the first batch. It may have records before `expected`.
            end: Position after the last byte.
            aborted: Producer id and first offset of each aborted transaction among them.
            until: Batches that begin at this offset or behind it are left out, for another segment
                or another call with the same bytes.

        Raises:
            CorruptBatchError: A batch is damaged; those before it were taken in.
        """
        for batches in collect(self._collector, buffer, start, end, aborted, self._left_out, until):
            self._took(batches)

    def pass_over(self, end: SourceOffset, kind: GapKind) -> None:
        """Record that no offset from `expected` to `end` holds a record, and the reason."""
        self._collector.pass_over(end, number_of(kind))

    @abstractmethod
    def flush(self) -> None:
        """Write the waiting records to free their memory, if the format allows."""

    @abstractmethod
    def _took(self, batches: CollectedBatches) -> None:
        """Do what the format does with batches that were just collected."""

    @abstractmethod
    def _end(self) -> None:
        """Write what is left."""

    def close(self, end: SourceOffset, kind: GapKind = GapKind.COMPACTED) -> SegmentFooter:
        """End the segment. The object must still be closed.

        Args:
            end: End of its range, exclusive.
            kind: Why no offset from `expected` to the end holds a record.
        """
        self.pass_over(end, kind)
        self._end()
        collector = self._collector
        footer = SegmentFooter(
            head=self.head,
            end=end,
            raw_bytes=collector.raw_bytes,
            digest=collector.digest,
            gaps=Gaps(collector.gaps),
            parts=tuple(self._parts),
            first_row_group=self._first_row_group,
            created=now_ms(),
        )
        self._footers.add(footer)
        return footer
