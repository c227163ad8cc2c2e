"""Totals over partitions, and their order: those that need attention first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.mirror.status.transformed import READ

_RANK = {State.STOPPED: 0, State.NO_LEADER: 1, State.EXCLUDED: 4} | dict.fromkeys(OVER, 4)
_LEFT_OUT, _FINE = 2, 3


class SortOrder(StrEnum):
    """The sort orders of partitions; equal ones are sorted by name."""

    TROUBLE = "trouble"
    """Partitions in trouble first, then by lag."""
    LAG = "lag"
    NAME = "name"


@dataclass(slots=True)
class Totals:
    """Totals over partitions.

    Attributes:
        records: Number of records copied since the partitions were opened; `bytes` likewise.
        lag_records: Source offsets still to be copied, of the partitions that tell.
        lag_bytes: An estimate of their bytes, as far as that is known.
        longest: The longest lag that is known, in seconds; `None` if none is.
        unknown: Number of partitions whose lag in records is unknown.
        untimed: Number of partitions whose lag in seconds is unknown, those included.
        unsized: Number of partitions with a lag whose bytes are unknown.
        deleted: Number of records, at most, that the target deleted and the source still has.
        unstable: Number of source offsets that open transactions hold back; no lag counts them.
        states: Number of partitions in each state.
    """

    partitions: int = 0
    records: int = 0
    bytes: int = 0
    lag_records: int = 0
    lag_bytes: int = 0
    longest: float | None = None
    unknown: int = 0
    deleted: int = 0
    untimed: int = 0
    unsized: int = 0
    unstable: int = 0
    states: Counter[State] = field(default_factory=Counter)

    def add(self, row: PartitionStatus) -> None:
        """Add a partition; of one that failed over, nothing more is copied."""
        self.partitions += 1
        self.records += row.records
        self.bytes += row.bytes
        self.deleted += row.deleted.records if row.deleted is not None else 0
        self.states[row.state] += 1
        if row.state not in OVER:
            self._add_lag(row)

    def _add_lag(self, row: PartitionStatus) -> None:
        self.lag_records += row.to_copy
        self.lag_bytes += int(bytes_behind(row))
        self.unstable += max(0, row.unstable)
        if row.lag_seconds >= 0:
            self.longest = max(row.lag_seconds, self.longest or 0.0)
        self.unknown += row.lag_records < 0
        self.untimed += row.lag_seconds < 0
        self.unsized += (
            row.lag_records > 0 and row.lag_log_bytes < 0 and not (row.records and row.bytes)
        )

    @property
    def lag_seconds(self) -> float | None:
        """The lag in seconds, `None` if the lag of some partition is unknown."""
        return None if self.untimed else self.longest or 0.0


def totals(rows: Iterable[PartitionStatus]) -> Totals:
    """Return the sum of partitions."""
    added = Totals()
    for row in rows:
        added.add(row)
    return added


def ordered(
    rows: Iterable[PartitionStatus], order: SortOrder = SortOrder.TROUBLE
) -> list[PartitionStatus]:
    """Return partitions in a sort order."""

    def key(row: PartitionStatus) -> tuple[int, float]:
        lag = -row.lag_records if row.lag_records >= 0 else float("-inf")
        match order:
            case SortOrder.NAME:
                return 0, 0
            case SortOrder.LAG:
                return 0, lag
            case _:
                return _rank(row), lag

    return sorted(rows, key=lambda row: (*key(row), row.topic, row.partition))


def bytes_behind(row: PartitionStatus) -> float:
    """Estimate the bytes still to be copied; 0 if unknown.

    By the mean size of copied records or, before the first one, by the size of the source log.
    """
    if row.state in OVER:
        return 0
    if row.records and row.bytes:
        read = dict(row.tally).get(READ, row.records)  # of those, a query made the records
        return row.to_copy * row.bytes / max(1, read)
    return max(0, row.lag_log_bytes)


def _rank(row: PartitionStatus) -> int:
    """Return how urgently somebody should look at a partition; 0 is most urgent."""
    return _RANK.get(row.state, _LEFT_OUT if row.left_out or row.lacks else _FINE)
