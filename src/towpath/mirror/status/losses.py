"""Records that the target lost: logs that end before what the target had acknowledged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from towpath.cluster.admin import Admin
from towpath.ledger.books import PartitionBooks
from towpath.model.errors import ClusterError
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.model.reason_texts import LOST

if TYPE_CHECKING:
    from towpath.ledger.offsets import OffsetMap

_AGAIN = 1.0
"""Seconds between two looks at a log that ends too early. Acknowledged records are in the log of
the next leader (acks=all), but a former leader, whose log is already truncated, may still answer
for a moment."""


@dataclass(frozen=True, slots=True)
class LostRecords:
    """Records that a target partition lost: all from `target_end` up to `acknowledged`.

    Attributes:
        target_end: The present log end offset of the target.
        acknowledged: The log end offset when the target acknowledged the last record.
        source_first: The source offset of the first lost record.
        source_end: The source offset behind the last lost record.
        records: Number of records; an upper bound where offsets are identical, as runs span gaps.
    """

    target_end: TargetOffset
    acknowledged: TargetOffset
    source_first: SourceOffset
    source_end: SourceOffset
    records: int

    def __str__(self) -> str:
        return (
            f"target: the log ends at offset {self.target_end}, but records up to offset"
            f" {self.acknowledged - 1} had been acknowledged; lost are target offsets"
            f" {self.target_end} to {self.acknowledged - 1}, which are source offsets"
            f" {self.source_first} to {self.source_end - 1}, at most {self.records} records {LOST}"
        )


def loss(books: PartitionBooks, target_end: TargetOffset) -> LostRecords | None:
    """Return the lost records of a partition whose target log ends at `target_end`, if any."""
    opened, receipt = books.opened, books.receipt
    if opened is None or receipt is None or target_end >= receipt.target_end:
        return None
    if receipt.source_end == books.start:
        return None  # nothing was copied yet, and the front may still be filled
    offsets = books.offsets()
    return LostRecords(
        target_end,
        receipt.target_end,
        _source_first(offsets, target_end, receipt.source_end),
        receipt.source_end,
        sum(_behind(target_end, there, there + length) for _, there, length in offsets.runs)
        + sum(_behind(target_end, *replaced) for replaced in offsets.replaced),
    )


def _source_first(
    offsets: OffsetMap, target_end: TargetOffset, source_end: SourceOffset
) -> SourceOffset:
    return min(offsets.to_source(target_end).offset, source_end)


def _behind(at: int, first: int, end: int) -> int:
    """Return how many of the target offsets [first, end) are at or after `at`."""
    return max(0, end - max(first, at))


@dataclass(slots=True)
class Losses:
    """Finds lost records; a log must end too early in two looks.

    Attributes:
        patient: Wait for the second look. Callers that look every second need not wait.
        ends: Log end offsets on the target at the last look, by source partition.
    """

    patient: bool = True
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    _doubted: dict[TopicPartition, float] = field(default_factory=dict)
    """When a log first seemed to end too early, in seconds of the monotonic clock."""

    def find(
        self,
        target: Admin,
        books: Mapping[TopicPartition, PartitionBooks],
        patience: float | None = None,
    ) -> tuple[dict[TopicPartition, LostRecords], dict[TopicPartition, ClusterError]]:
        """Ask the target for its log end offsets, and compare them with receipts.

        Args:
            target: The target.
            books: The source partitions to look at, with what the ledger knew before this call.
            patience: Seconds for the target's leaders, each of which is asked once; see
                `ask_leaders`.

        Returns:
            The lost records, and why a log end offset is unknown; both by source partition.
        """
        self.ends = {}
        found, failed = self._look(target, books, books, patience)
        doubted = found.keys() - self._sure(found)
        if doubted and self.patient:
            time.sleep(_AGAIN)
            again, failed_again = self._look(target, books, doubted, patience)
            found = {tp: loss for tp, loss in found.items() if tp not in doubted} | again
            failed |= failed_again
        sure = self._sure(found)
        return {tp: found[tp] for tp in sure}, failed

    def _look(
        self,
        target: Admin,
        books: Mapping[TopicPartition, PartitionBooks],
        tps: Iterable[TopicPartition],
        patience: float | None,
    ) -> tuple[dict[TopicPartition, LostRecords], dict[TopicPartition, ClusterError]]:
        there = {tp: opened.target for tp in tps if (opened := books[tp].opened) is not None}
        try:
            ends = target.offsets.log_ends(there.values(), patience=patience)
        except ClusterError as error:  # no partition at all has an answer
            return {}, dict.fromkeys(there, error)
        self.ends |= {tp: ends[copy] for tp, copy in there.items() if copy in ends}
        found: dict[TopicPartition, LostRecords] = {}
        for tp, copy in there.items():
            lost = loss(books[tp], TargetOffset(ends[copy])) if copy in ends else None
            if lost is None:
                self._doubted.pop(tp, None)
            else:
                found[tp] = lost
                self._doubted.setdefault(tp, time.monotonic())
        return found, {tp: ends.failed[copy] for tp, copy in there.items() if copy in ends.failed}

    def _sure(self, found: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        now = time.monotonic()
        return frozenset(tp for tp in found if now - self._doubted[tp] >= _AGAIN)
