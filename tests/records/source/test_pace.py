"""Limits on the bytes per second: buckets, and what a fetcher asks for under them. Pure."""

from __future__ import annotations

import heapq
import struct
from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from tests.support.copying.lanes import (
    NODE,
    Part,
    lane,
    plain,
    stand_in_node,
    tp,
)
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.model.nouns import TopicName
from towpath.model.rates import NO_LIMIT, RateLimits
from towpath.records.lane.lane import Lane
from towpath.records.source.budget import PARTITION_BYTES
from towpath.records.source.fetcher import Fetcher
from towpath.records.source.pace import Bucket, Pace, whole_batches
from towpath.settings import ClusterConfig

ORDERS = TopicName("orders")
MB = 1_000_000


class Clock:
    """Time that goes on when the test says so, with its timers."""

    def __init__(self) -> None:
        self.now, self._numbers = 0.0, count()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self.now + seconds, next(self._numbers), call))

    def go_to(self, time: float) -> None:
        while self._timers and self._timers[0][0] <= time:
            self.now, _, call = heapq.heappop(self._timers)
            call()
        self.now = time

    def next(self) -> None:
        """Go to the next timer."""
        self.go_to(self._timers[0][0])


@pytest.mark.parametrize("rate", [20_000, MB, 50 * MB])
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.3])
def test_the_rate_holds_and_is_smooth(rate: int, delay: float) -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    pace.follow(RateLimits(rate))
    sums: Counter[int] = Counter()
    end = 20.0
    while clock.now < end:
        granted = pace.ask(1 << 30, 1)
        if not granted:
            clock.next()
            continue
        clock.go_to(clock.now + delay)
        size = granted if rate > 100_000 else max(granted, 4000)
        pace.came(granted, [(ORDERS, size)])
        sums[int(clock.now)] += size
    total = sum(sums[second] for second in range(20))
    assert 0.93 * rate * 20 < total < 1.05 * rate * 20
    assert max(sums[second] for second in range(1, 20)) < 1.6 * rate
    assert pace.link is not None
    assert pace.link.used == pytest.approx(sum(sums.values()))


def test_a_bucket_saves_up_half_a_second_at_most_and_repays_what_it_overdraws() -> None:
    bucket = Bucket(MB, 0.0)
    assert bucket.wait(0.0) == 0.0
    assert bucket.left(100.0) == 0.5 * MB
    bucket.take(2.5 * MB)
    assert bucket.wait(100.0) == pytest.approx(2.05)
    bucket.change(4 * MB, 100.0)
    assert bucket.wait(100.0) == pytest.approx(0.55)
    assert bucket.wait(101.0) == 0.0


def test_a_large_batch_of_a_slow_limit_is_waited_for() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    pace.follow(RateLimits(100_000))
    granted = pace.ask(8 << 20, 1)
    pace.came(granted, [(ORDERS, 1_000_000)])
    assert pace.ask(8 << 20, 1) == 0
    clock.next()
    assert clock.now == pytest.approx(10.0, abs=0.1)
    assert pace.ask(8 << 20, 1) > 0
    assert pace.link is not None
    assert pace.link.waited == pytest.approx(clock.now)


def test_several_brokers_share_what_is_there_and_get_theirs_back() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    pace.follow(RateLimits(MB))
    clock.go_to(10.0)
    first, second = pace.ask(8 << 20, 2), pace.ask(8 << 20, 2)
    assert (first, second) == (250_000, 125_000)
    for granted in (first, second):
        pace.came(granted, [])
    assert pace.ask(8 << 20, 1) == 500_000
    pace.give_back(500_000)
    assert pace.ask(8 << 20, 1) == 500_000


def test_a_rate_that_is_raised_counts_at_once() -> None:
    clock = Clock()
    pace = Pace(clock, clock)
    due: list[TopicName] = []
    pace.listen(due.append)
    pace.follow(RateLimits(1000, {ORDERS: 1000}))
    pace.came(pace.ask(8 << 20, 1), [(ORDERS, 100_000)])
    assert (pace.ask(8 << 20, 1), pace.share(tp())) == (0, 0)
    pace.follow(RateLimits(MB, {ORDERS: MB}))
    assert due == [ORDERS]
    clock.go_to(0.2)
    assert pace.ask(8 << 20, 1)
    assert pace.share(tp())
    assert pace.link is not None
    assert pace.link.waited < 1.0
    pace.follow(NO_LIMIT)
    assert (pace.on, due) == (False, [ORDERS, ORDERS])
    assert pace.share(tp()) == PARTITION_BYTES


def test_whole_batches_count_in_any_format() -> None:
    first, second = plain(0), plain(1, 3)
    data = memoryview(bytes(first + second + plain(4)[:-1]))
    assert list(whole_batches(data)) == [len(first), len(second)]
    old = struct.pack(">qi", 0, 30) + bytes(30)
    assert list(whole_batches(memoryview(old))) == [42]
    assert list(whole_batches(memoryview(b"\0" * 11))) == []
    assert list(whole_batches(memoryview(struct.pack(">qi", 0, -1) + bytes(30)))) == []


# A fetcher under limits


def take(lane: Lane, frame: Frame, said: Fetched) -> None:
    lane.take(frame, said.start, said.end, said.aborted)


def limited(clock: Clock, rates: RateLimits) -> tuple[Fetcher[Lane], Asked]:
    pace = Pace(clock, clock)
    pace.follow(rates)
    made = Fetcher[Lane](
        clock, ClusterConfig(bootstrap=("host:1",)), None, BufferPool(64 << 20),  # type: ignore[arg-type]  # stand-ins
        share=1 << 20, on_data=take, on_trouble=lambda *_: None, pace=pace,
    )  # fmt: skip
    return made, Asked(made)


class Asked:
    """The only node of a fetcher, and what its last request asked for."""

    def __init__(self, made: Fetcher[Lane]) -> None:
        self._channel, self._session = stand_in_node(made), made._requests.sessions[NODE]

    @property
    def waiting(self) -> int:
        return len(self._channel.asked)

    @property
    def partitions(self) -> dict[int, int]:
        """The partitions of the session, with the bytes that are asked for."""
        return {tp.partition: at.max_bytes for tp, at in self._session._wanted.items()}

    def answer(self, *parts: Part) -> None:
        self._channel.answer(*parts)


def test_the_next_request_waits_for_the_limit_of_the_link() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(10_000))
    made.add(lane(0))
    assert asked.waiting == 1
    asked.answer(Part(0, [plain(0, size=5000)]))
    assert asked.waiting == 0
    made.refill()
    assert asked.waiting == 0
    clock.go_to(0.6)
    made.refill()
    assert asked.waiting == 1


def test_a_topic_that_waits_leaves_the_others_alone() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(None, {ORDERS: 10_000}))
    slow, fast = lane(0), lane(1, topic="others")
    made.add(slow)
    made.add(fast)
    assert asked.partitions == {0: 16384, 1: PARTITION_BYTES}
    asked.answer(Part(0, [plain(0, size=5000)]))
    assert asked.partitions == {1: PARTITION_BYTES}, "only the partition of the topic waits"
    assert asked.waiting == 1
    assert 400 < made._wants.longest_wait(10_000) <= 500, (
        "the broker answers when the topic may go on"
    )
    clock.go_to(0.6)
    assert set(asked.partitions) == {0, 1}
    assert asked.waiting == 1
    assert slow.expected == 1


def test_partitions_of_a_topic_take_turns() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(None, {ORDERS: 400_000}))
    for number in range(4):
        made.add(lane(number))
    came = Counter[int]()
    bases = Counter[int]()
    while clock.now < 10.0:
        if not asked.waiting:
            clock.next()
            continue
        parts = []
        for number in asked.partitions:
            parts.append(Part(number, [plain(bases[number], size=20_000)]))
            bases[number] += 1
            came[number] += len(parts[-1].batches[0])
        asked.answer(*parts)
    assert 3_700_000 < came.total() < 4_400_000
    assert max(came.values()) < 1.2 * min(came.values())


def test_what_is_removed_waits_no_more() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(None, {ORDERS: 10_000}))
    gone, stays = lane(0), lane(1)
    made.add(gone)
    made.add(stays)
    asked.answer(Part(0, [plain(0, size=5000)]), Part(1, [plain(0, size=5000)]))
    assert asked.partitions == {}
    assert gone.source in made._wants._late
    made.remove(gone)
    clock.go_to(10.0)
    assert set(asked.partitions) == {1}


def test_a_connection_that_is_lost_gives_back_what_was_granted() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(MB))
    made.add(lane(0))
    assert asked.waiting == 1
    assert made._pace.ask(8 << 20, 1) == 0
    made._serving.lost(NODE, "cut")
    assert made._pace.ask(8 << 20, 1) == 50_000


def test_what_waits_while_its_broker_is_away_is_asked_for_when_it_is_back() -> None:
    clock = Clock()
    made, asked = limited(clock, RateLimits(None, {ORDERS: 10_000}))
    made.add(lane(0))
    asked.answer(Part(0, [plain(0, size=5000)]))
    made._serving.lost(NODE, "cut")
    made._pace.follow(NO_LIMIT)
    assert not made._wants._late
    again = Asked(made)
    made._serving.found()
    assert set(again.partitions) == {0}
