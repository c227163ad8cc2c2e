"""Detection of an overloaded slice while another slice has room. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from towpath.mirror.run.deals import Demand, Table, spread
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.work import Assignment

_LOOKS = 3
"""Fewest looks in a window: a lag that two of them saw may have gone in between."""
_GRACE = 5.0
"""Seconds of its own arrival rate, and two intervals of receipts, by which any partition lags."""
_LESS = 0.75
"""How much of its crowding the partition that is crowded most must be left with at most."""
_ROOM = 0.5
"""How much of what an overloaded slice copies another one copies at most if it has room."""
_FIRST, _LONGEST = 5, 60
"""Windows between two new spreads: at first, and at most."""
_FASTER = 1.25
"""How much faster partitions that lag are copied at least where a new spread has helped."""
_Tps = AbstractSet[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uneven:
    """The reason to distribute partitions anew: an overloaded slice.

    Attributes:
        slice: The number of the overloaded slice.
        lagging: Number of partitions that lag, in all slices.
        load: The load of the overloaded slice in bytes per minute (`Demand.weight`).
        next_load: The highest load of a slice in the new spread.
    """

    slice: int
    lagging: int
    load: int
    next_load: int


@dataclass(frozen=True, slots=True)
class Limited:
    """The rate limits of topics (`run.max_rate`), which no new distribution can overcome.

    Attributes:
        holds_back: Whether a source topic would be copied faster without its limits.
        rate: The limit of a source topic of its own in bytes per second, `None` if it has none.
    """

    holds_back: Callable[[TopicName], bool] = lambda _: False
    rate: Callable[[TopicName], float | None] = lambda _: None


_NOT_LIMITED = Limited()


class Balance:
    """Watches the lag of partitions, one time window after the other.

    Args:
        window: Seconds for which partitions must lag.
        receipts: Seconds between two receipts of a partition: it lags by that even if it does not.
        ends: Whether the run ends where the partitions ended when it began, so that it does not
            matter how much is written to them.

    Attributes:
        demand: What was written to the partitions in the last window.
    """

    def __init__(self, window: float, receipts: float, *, ends: bool) -> None:
        self._window, self._ends = window, ends
        self._grace = _GRACE + 2 * receipts
        self.demand = Demand()
        self._rows: Sequence[PartitionStatus] = ()
        self._table: Table | None = None
        self._began, self._looks = 0.0, 0
        self._first: Mapping[TopicPartition, PartitionStatus] = {}
        """The rows at the beginning of the window."""
        self._least: Mapping[TopicPartition, int] = {}
        """The smallest lag in this window of each partition that lagged at every look."""
        self._whole = False
        """Whether the window belongs to one round."""
        self._pause, self._next = _FIRST * window, 0.0
        self._before: tuple[_Tps, float] | None = None
        """What lagged when partitions were last spread anew, and the bytes per second that were
        copied of it, until it is known whether that has helped."""

    def look(
        self,
        now: float,
        rows: Sequence[PartitionStatus],
        table: Table,
        slices: int,
        *,
        room: bool = True,
        limited: Limited = _NOT_LIMITED,
    ) -> Uneven | None:
        """Return why the next round should begin now with another distribution, else `None`.

        Args:
            now: Seconds of any clock that only goes forward.
            rows: Where partitions stand; passed over if they are those of the last look.
            table: The slices of the round that goes on.
            slices: The most slices that the next round may have.
            room: Whether its slices can run beside those of this round.
            limited: Which topics limits hold back.
        """
        if rows is self._rows:
            return None
        self._rows = rows
        if table is not self._table:
            self._table, self._whole = table, False
        lags = {row.tp: row.lag_records for row in rows if row.state is State.BEHIND}
        self._least = {tp: min(lags[tp], lag) for tp, lag in self._least.items() if tp in lags}
        self._looks += 1
        if self._first and (now - self._began < self._window or self._looks < _LOOKS):
            return None
        found = self._judge(now, table, slices, limited, room=room) if self._first else None
        self._began, self._looks, self._whole = now, 0, True
        self._first, self._least = {row.tp: row for row in rows}, lags
        return found

    def _judge(
        self, now: float, table: Table, slices: int, limited: Limited, *, room: bool
    ) -> Uneven | None:
        """Measure at the end of a window; return what `look` returns."""
        seconds = now - self._began
        still = frozenset(row.tp for row in self._rows if row.stands_still)
        topics = {row.topic for row in self._rows}
        limits = {name: rate for name in topics if (rate := limited.rate(name)) is not None}
        self.demand = Demand(self._rates(seconds), still, limits)
        if not self._whole:
            return None
        held = table.held
        lagging = {
            row.tp
            for row in self._rows
            if row.tp in held
            and self._lags(row, held[row.tp])
            and not limited.holds_back(row.topic)
        }
        speeds = self._speeds(seconds)
        self._learn(now, lagging, speeds)
        if not room or now < self._next:
            return None
        weights = {
            row.tp: self.demand.weight(row.tp, _left(row, held[row.tp]), row.records, row.bytes)
            for row in self._rows
            if row.tp in held
        }
        found = uneven(table, weights, speeds, lagging, slices)
        if found is not None:
            self._before, self._next = (lagging, _sum(speeds, lagging)), now + self._pause
        return found

    def _rates(self, seconds: float) -> dict[TopicPartition, float]:
        if self._ends:
            return {}
        came = {
            row.tp: _end(row) - _end(self._first[row.tp])
            for row in self._rows
            if row.tp in self._first and min(row.lag_records, self._first[row.tp].lag_records) >= 0
        }
        return {tp: count / seconds for tp, count in came.items() if count > 0}

    def _lags(self, row: PartitionStatus, work: Assignment) -> bool:
        """Whether a partition lagged all the time and would not catch up within another window."""
        if row.tp not in self._least:
            return False
        late = self._least[row.tp] > self._grace * self.demand.rates.get(row.tp, 0.0)
        return late and 2 * _left(row, work) > _left(self._first[row.tp], work)

    def _speeds(self, seconds: float) -> dict[TopicPartition, float]:
        """Return the bytes per second that were copied of each partition in the window."""
        known = (row for row in self._rows if row.tp in self._first)
        return {row.tp: (row.bytes - self._first[row.tp].bytes) / seconds for row in known}

    def _learn(self, now: float, lagging: _Tps, speeds: Mapping[TopicPartition, float]) -> None:
        """Double the pause if the last new spread has not helped."""
        if self._before is None:
            return
        (tps, speed), self._before = self._before, None
        began = self._next - self._pause
        helped = tps.isdisjoint(lagging) or _sum(speeds, tps) >= _FASTER * speed
        first, longest = _FIRST * self._window, _LONGEST * self._window
        self._pause = first if helped else min(2 * self._pause, longest)
        self._next = max(now, began + self._pause)


def uneven(
    table: Table,
    weights: Mapping[TopicPartition, int],
    speeds: Mapping[TopicPartition, float],
    lagging: _Tps,
    slices: int,
) -> Uneven | None:
    """Return why partitions should be distributed anew, `None` if that would not help.

    A slice is overloaded if partitions in it lag that make up half of its load. Another slice has
    room if none of its partitions lags and it copies at most half as much. A partition is crowded
    by what its slice has beside it: by the load of the slice, divided by its own. A new spread must
    leave the most crowded of the partitions that lag with at most three quarters of that, and must
    not raise the highest load of a slice. So a partition that lags alone is not moved, but others
    that lag are moved away from it.

    Args:
        table: The slices.
        weights: The load of each of their partitions.
        speeds: The bytes per second that are copied of each, if known.
        lagging: Which partitions lag.
        slices: The most slices that there may be.
    """
    late = lagging & weights.keys()
    parts: Sequence[_Tps] = [hand.held.keys() & weights.keys() for hand in table.hands]
    worst = _overloaded(parts, weights, late)
    spare = len(parts) < min(slices, len(weights))
    if worst is None or not (spare or _has_room(parts, speeds, late, worst)):
        return None
    held = table.held
    dealt = spread([(weight, held[tp]) for tp, weight in weights.items()], slices)
    anew: Sequence[_Tps] = [{each.source for each in part} for part in dealt]
    highest, before = (max(_sum(weights, part) for part in each) for each in (anew, parts))
    less = _LESS * _crowding(parts, weights, late)
    if highest > before or _crowding(anew, weights, late) > less:
        return None
    load = round(_sum(weights, parts[worst]))
    return Uneven(slice=worst, lagging=len(late), load=load, next_load=round(highest))


def _overloaded(
    parts: Sequence[_Tps], weights: Mapping[TopicPartition, int], late: _Tps
) -> int | None:
    """Return which slice has the highest load of those whose load lags by half at least."""
    loads = [_sum(weights, part) for part in parts]
    lags = [_sum(weights, part & late) for part in parts]
    behind = (number for number, lag in enumerate(lags) if 2 * lag >= loads[number] > 0)
    return max(behind, key=loads.__getitem__, default=None)


def _has_room(
    parts: Sequence[_Tps], speeds: Mapping[TopicPartition, float], late: _Tps, worst: int
) -> bool:
    """Whether a slice without partitions that lag copies at most half as much as another one."""
    most = _ROOM * _sum(speeds, parts[worst])
    return any(_sum(speeds, part) <= most for part in parts if not part & late)


def _crowding(parts: Sequence[_Tps], weights: Mapping[TopicPartition, int], late: _Tps) -> float:
    """Return how crowded the most crowded partition of `late` is, 1 if each is alone."""
    return max(_sum(weights, part) / weights[tp] for part in parts for tp in part if tp in late)


def _sum(values: Mapping[TopicPartition, float], tps: _Tps) -> float:
    return sum(values.get(tp, 0) for tp in tps)


def _left(row: PartitionStatus, work: Assignment) -> int:
    """Return how many source offsets are left to copy, up to the end of the run if it has one."""
    left = max(0, row.lag_records)
    if work.end is None or work.end < 0:
        return left
    return min(left, max(0, work.end - row.source_end))


def _end(row: PartitionStatus) -> int:
    return row.source_end + row.lag_records
