"""When partitions are spread over the slices anew. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copying.deals import part, table_of
from tests.support.ledger.standings import ROW
from towpath.mirror.run.balance import Balance, Limited, Uneven, uneven
from towpath.mirror.run.deals import Table, spread
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.records.work import Assignment

WINDOW, EVERY = 60.0, 10.0
PARTS = [part("hot", number) for number in range(8)]
TPS = [each.source for each in PARTS]
SIZE = 100
"""Bytes of a record."""


@dataclass
class Track:
    """A run that is looked at every ten seconds; each partition gets and copies so many a second.

    Attributes:
        comes: Records per second that come to the partitions; the others get none.
        copies: Records per second that are copied of each.
        lag: The lag of each at the beginning.
    """

    comes: Mapping[int, float] = field(default_factory=dict)
    copies: Mapping[int, float] = field(default_factory=dict)
    lag: Mapping[int, float] = field(default_factory=dict)
    hands: Sequence[Sequence[int]] = ((0, 2, 4, 6), (1, 3, 5, 7))
    states: Mapping[int, State] = field(default_factory=dict)
    ends: bool = False
    limited: Limited = field(default_factory=Limited, repr=False)

    def __post_init__(self) -> None:
        self.balance = Balance(WINDOW, 1.0, ends=self.ends)
        self.now, self.copied = 1000.0, dict.fromkeys(range(8), 10_000.0)
        self.behind = {number: self.lag.get(number, 0.0) for number in range(8)}
        self.deal()

    def deal(self, change: Callable[[Assignment], Assignment] = lambda each: each) -> None:
        """Begin a round."""
        self.table = table_of([[change(PARTS[n]) for n in hand] for hand in self.hands])

    def rows(self) -> tuple[PartitionStatus, ...]:
        return tuple(
            replace(
                ROW, topic=tp.topic, partition=tp.partition, source_end=int(self.copied[n]),
                lag_records=int(self.behind[n]), records=int(self.copied[n]),
                bytes=int(self.copied[n]) * SIZE,
                state=self.states.get(n, State.BEHIND if int(self.behind[n]) else State.CAUGHT_UP),
            )
            for n, tp in enumerate(TPS)
        )  # fmt: skip

    def go(self, seconds: float, *, room: bool = True) -> list[tuple[float, Uneven]]:
        """Let time pass; return what the looks found, and when."""
        found, start = [], self.now
        while self.now < start + seconds:
            told = self.balance.look(
                self.now, self.rows(), self.table, 2, room=room, limited=self.limited
            )
            if told is not None:
                found.append((self.now - start, told))
            self.now += EVERY
            for n in range(8):
                came = self.comes.get(n, 0.0) * EVERY
                took = min(self.copies.get(n, 0.0) * EVERY, self.behind[n] + came)
                self.behind[n] += came - took
                self.copied[n] += took
        return found


FOUR = (0, 2, 4, 6)


def each(value: float, numbers: Sequence[int] = FOUR) -> dict[int, float]:
    return dict.fromkeys(numbers, value)


def overloaded() -> Track:
    return Track(comes=each(1000), copies=each(500))


def test_another_slice_with_room_is_used() -> None:
    track = overloaded()
    [(when, found)] = track.go(200)
    assert when == 2 * WINDOW, "the first window is that of a round which has just begun"
    assert (found.slice, found.lagging) == (0, 4)
    assert found.next_load == pytest.approx(found.load / 2, rel=0.01)
    assert track.balance.demand.rates == dict.fromkeys((TPS[n] for n in FOUR), 1000.0)


def test_a_backlog_that_would_take_hours_is_shared() -> None:
    [(_, found)] = Track(lag=each(1e8), copies=each(500)).go(200)
    assert found.slice == 0


@pytest.mark.parametrize(
    "track",
    [
        Track(),
        Track(comes=each(1000), copies=each(1000), lag=each(6500)),  # what receipts are late by
        Track(lag=each(60_000), copies=each(500)),  # gone within two windows
        Track(comes=each(100, range(8)), copies=each(50, range(8))),  # both lag
        Track(comes={0: 1000.0}, copies={0: 500.0}),  # it is alone
        Track(comes={0: 1000.0, 2: 1.0}, copies={0: 500.0, 2: 1.0}),  # who does not lag stays
        Track(comes=each(1000) | {1: 1.0}, copies=each(1000) | {1: 0.1},
              hands=((0, 2, 4, 6, 1), (3, 5, 7))),  # only a small one lags
        Track(  # the other slice copies as much
            comes=each(1000) | each(900, (1, 3, 5, 7)), copies=each(500) | each(900, (1, 3, 5, 7))
        ),
        Track(comes=each(1000), states=each(State.STOPPED)),  # type: ignore[arg-type]
        Track(comes=each(1000), states=each(State.NO_LEADER)),  # type: ignore[arg-type]
        Track(comes=each(1000), states=each(State.NOT_STARTED)),  # type: ignore[arg-type]
    ],
    ids=str,
)  # fmt: skip
def test_nothing_moves_where_that_would_not_help(track: Track) -> None:
    assert track.go(600) == []


def test_nothing_moves_where_a_limit_holds_back_what_lags() -> None:
    track = overloaded()
    track.limited = Limited(lambda topic: topic == "hot", lambda _: 1000.0)
    assert track.go(10 * WINDOW) == []
    assert track.balance.demand.weight(TPS[0], 10**9, 1, SIZE) == 10_000 + 60 * 1000
    track.limited = Limited()
    assert track.go(10 * WINDOW) != []
    assert track.balance.demand.weight(TPS[0], 10**9, 1, SIZE) > 10**9


def test_nothing_moves_without_room_but_what_comes_is_known() -> None:
    track = overloaded()
    assert track.go(600, room=False) == []
    assert track.balance.demand.rates[TPS[0]] == 1000.0


def test_others_are_moved_away_from_a_hot_partition() -> None:
    rates = {0: 10_000.0, 2: 200.0, 4: 200.0}
    [(_, found)] = Track(comes=rates, copies={0: 8000.0, 2: 150.0, 4: 150.0}).go(200)
    assert found.slice == 0
    track = Track(comes=rates, copies={0: 8000.0}, hands=((0,), range(1, 8)))
    track.copies = {0: 8000.0, 2: 200.0, 4: 200.0}
    assert track.go(600) == [], "it is alone already"


def test_only_a_window_within_one_round_counts() -> None:
    track = overloaded()
    for _ in range(10):
        assert track.go(50) == []
        track.deal()
    assert track.balance.demand.rates[TPS[0]] == 1000.0, "rates are measured all the same"


def test_what_does_not_help_is_tried_ever_more_rarely() -> None:
    track = overloaded()
    times = [when for when, _ in track.go(3000)]  # the hands stay as they are
    assert times == [120.0, 120.0 + 600.0, 120.0 + 600.0 + 1200.0]


def test_where_it_helped_it_may_soon_be_done_again() -> None:
    track = overloaded()
    assert len(track.go(130)) == 1
    track.copies = each(1000)
    assert len(track.go(120)) == 0
    assert [when for when, _ in track.go(200)] == [120 + 5 * WINDOW - 250]


def test_a_run_with_an_end_asks_only_what_is_left_up_to_there() -> None:
    def until(end: int) -> Callable[[Assignment], Assignment]:
        return lambda each: replace(each, end=SourceOffset(end))

    near = Track(comes=each(5000), copies=each(500), lag=each(1e6), ends=True)
    near.deal(until(10_500))
    assert near.go(300) == []
    far = Track(comes=each(5000), copies=each(500), lag=each(1e6), ends=True)
    far.deal(until(10_000_000))
    assert [found.slice for _, found in far.go(300)] == [0]
    assert far.balance.demand.rates == {}


tps = [part("any", number) for number in range(12)]


def spread_anew(loads: Sequence[int], hands: Sequence[Sequence[int]], late: set[int]) -> bool:
    """Return whether partitions with these loads are spread anew; only late ones are copied."""
    weight = {tps[n].source: load for n, load in enumerate(loads)}
    lagging = {tps[n].source for n in late}
    table = table_of([[tps[n] for n in hand] for hand in hands])
    return uneven(table, weight, dict.fromkeys(lagging, 1.0), lagging, len(hands)) is not None


def test_no_slice_gets_more_than_the_fullest_has() -> None:
    """The smallest partition would be less crowded, but the fullest slice would have 56."""
    loads, hands = (20, 20, 18, 18, 18, 1), ((0, 1), (2, 3, 4, 5))
    assert not spread_anew(loads, hands, late={2, 3, 4, 5})
    assert spread_anew((20, 20, 19, 19, 19, 1), hands, late={2, 3, 4, 5}), "58 as before"


weights = st.lists(st.integers(1, 10_000) | st.just(1), min_size=1, max_size=12)


@given(weights, st.data())
def test_a_new_spread_is_better_and_the_last(loads: list[int], data: st.DataObject) -> None:
    numbers = range(len(loads))
    slices = data.draw(st.integers(1, 4))
    owner = [data.draw(st.integers(0, slices - 1)) for _ in numbers]
    weight = {tps[n].source: loads[n] for n in numbers}
    late = {tps[n].source for n in data.draw(st.sets(st.sampled_from(numbers)))}
    speeds = {tps[n].source: data.draw(st.floats(0, 100)) for n in numbers}
    before = table_of([[tps[n] for n in numbers if owner[n] == s] for s in range(slices)])
    found = uneven(before, weight, speeds, late, slices)
    if found is None:
        return
    after = table_of(spread([(weight[each.source], each) for each in tps[: len(loads)]], slices))
    assert highest(after, weight) == found.next_load <= highest(before, weight)
    assert found.load in loads_of(before, weight)
    crowds = [crowd(table, weight, late) for table in (before, after)]
    assert max(crowds[1].values()) <= 0.75 * max(crowds[0].values())
    assert uneven(after, weight, speeds, late, slices) is None, "the same spread would come again"


def loads_of(table: Table, weight: Mapping[TopicPartition, int]) -> list[int]:
    return [sum(weight[tp] for tp in hand.held) for hand in table.hands]


def highest(table: Table, weight: Mapping[TopicPartition, int]) -> int:
    return max(loads_of(table, weight))


def crowd(
    table: Table, weight: Mapping[TopicPartition, int], late: set[TopicPartition]
) -> dict[TopicPartition, float]:
    return {
        tp: load / weight[tp]
        for hand, load in zip(table.hands, loads_of(table, weight), strict=True)
        for tp in hand.held
        if tp in late
    }
