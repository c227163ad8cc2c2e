"""The memory of a slice: one budget for all lanes, which never stands still and starves nobody."""

from __future__ import annotations

import pytest

from tests.support.copying.lanes import COMMIT as COMMITTED
from tests.support.copying.lanes import (
    NODE,
    Part,
    StandInReactor,
    fetcher,
    in_transaction,
    lane,
    marker,
    plain,
    tp,
)
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.model.nouns import TargetOffset
from towpath.records.items import Batch, Fill
from towpath.records.landing import relief
from towpath.records.landing.relief import Relief
from towpath.records.lane.lane import Lane

MIB = 1 << 20


def take(to: Lane, frame: Frame, said: Fetched) -> None:
    to.take(frame, said.start, said.end)


def land(of: Lane) -> None:
    """Let everything that waits in a lane be acknowledged."""
    while (batch := of.next_batch()) is not None:
        of.acknowledge(TargetOffset(batch.base))


def test_buffers_are_counted_and_used_again_within_the_limit() -> None:
    pool = BufferPool(4 * MIB)
    frames = [pool.frame(size) for size in (MIB, MIB + 1, 100_000)]
    assert pool.held == sum(frame.held for frame in frames)
    assert all(frame.size <= frame.held <= frame.size * 9 // 8 + 4096 for frame in frames)
    first = frames[0].buffer
    frames[0].hold().release()
    assert pool.held == sum(frame.held for frame in frames)
    frames[0].release()
    again = pool.frame(MIB - 10)
    assert again.buffer is first
    copied = again.instead(b"x" * 1000)
    assert pool.held == sum(frame.held for frame in (*frames[1:], again, copied))
    for frame in (*frames[1:], again, copied):
        frame.release()
    assert (pool.held, pool.room, pool.left) == (0, 4 * MIB, 4 * MIB * 7 // 8)


@pytest.mark.parametrize("count", [1, 20, 1000])
def test_all_lanes_together_stay_within_the_memory_and_go_on_when_there_is_some(count: int) -> None:
    made, channel = fetcher(StandInReactor(), take, memory=8 * MIB)
    lanes = [lane(number) for number in range(count)]
    for each in lanes:
        made.add(each)
    turn, most = 0, 0
    for _ in range(10):
        while channel.asked:
            room = made.budget.promised[NODE]
            parts: list[Part] = []
            while room > 110_000 and len(parts) < count:
                each = lanes[turn % count]  # a broker begins with those that waited longest
                turn += 1
                parts.append(Part(turn % count - 1 if turn % count else count - 1,
                                  [plain(each.expected, size=100_000)]))  # fmt: skip
                room -= 110_000
            channel.answer(*parts)
            most = max(most, made.budget.pool.held)
        assert most <= 8 * MIB
        for each in lanes:
            land(each)
            made.room(each)
        made.refill()
        assert channel.asked
    assert made.budget.pool.held < MIB  # what did not land is nothing: free buffers do not count
    moved = [each.progress.records for each in lanes]
    assert max(moved) - min(moved) <= 30


def test_copies_of_small_batches_take_no_more_than_is_left() -> None:
    """They are joined while the answer that they came in lies in memory, too."""
    made, channel = fetcher(StandInReactor(), take, memory=4 * MIB)
    lanes = [lane(number) for number in range(32)]
    for each in lanes:
        made.add(each)
    made.budget.pool.frame(2 * MIB)  # in use elsewhere
    count = made.budget.promised[NODE] // (len(lanes) * 2200)
    parts = [
        Part(number, [plain(n, size=2000) for n in range(count)]) for number in range(len(lanes))
    ]
    channel.answer(*parts)
    assert 3 * MIB < made.budget.pool.held <= 4 * MIB
    counts = [batch.count for each in lanes if (batch := each.next_batch())]
    assert (min(counts), max(counts) > 1) == (1, True), "some found no room, and some did"


def test_a_batch_larger_than_the_memory_gets_through_alone() -> None:
    made, channel = fetcher(StandInReactor(), take, memory=8 * MIB)
    huge, other = lane(0), lane(1)
    made.add(huge)
    made.add(other)
    for number in range(3):
        channel.answer(Part(0, [plain(number, size=12 * MIB)]))
        assert not channel.asked
        made.refill()
        assert not channel.asked  # nothing else is asked for meanwhile
        land(huge)
        made.room(huge)
        made.refill()
        assert len(channel.asked) == 1
    assert huge.progress.records == 3


def queued(of: Lane) -> list[tuple[int, ...]]:
    return [
        (item.base, item.end, item.sequence) if isinstance(item, Batch) else (item.base, item.end)
        for item in of.queue.waiting
        if isinstance(item, Batch | Fill)
    ]


def test_what_a_lane_gave_back_comes_again_as_it_was() -> None:
    made, channel = fetcher(StandInReactor(), take, memory=8 * MIB)
    stuck = lane()
    made.add(stuck)
    batches = [
        plain(0, 3, size=2000), in_transaction(3, 9), marker(4, 9, COMMITTED),
        plain(5, 2), plain(7),
    ]  # fmt: skip
    channel.answer(Part(0, batches))
    flying = stuck.next_batch()
    before = queued(stuck)
    assert stuck.shed()
    made.park(stuck)
    assert (queued(stuck), stuck.expected) == ([], 3)
    assert flying is not None
    assert flying.base == 0
    assert not stuck.shed()
    channel.answer(Part(0, [plain(8)]))  # asked for before; it is from where it stands no more
    assert queued(stuck) == []
    stuck.acknowledge(TargetOffset(0))
    made.room(stuck)
    channel.answer()
    channel.answer(Part(0, batches[1:]))
    assert queued(stuck) == before
    land(stuck)
    assert (stuck.progress.position.source, stuck.progress.records) == (4, 4)  # a fill is due


def test_memory_of_lanes_that_stand_still_goes_to_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relief, "_PATIENCE", -1.0)
    reactor = StandInReactor()
    made, channel = fetcher(reactor, take, memory=8 * MIB)
    stuck, well = lane(0), lane(1)
    Relief(reactor, made.budget.pool, {tp(0): stuck, tp(1): well}, made)  # type: ignore[arg-type]
    made.add(stuck)
    made.add(well)
    channel.answer(Part(0, [plain(0, size=7 * MIB)]))
    made.refill()
    assert not channel.asked
    reactor.ring()
    assert stuck.queue  # it is looked at for the first time
    reactor.ring()
    assert not stuck.queue
    made.refill()
    channel.answer(Part(1, [plain(0, size=100_000)]))
    land(well)
    assert well.progress.records == 1
    assert {*made._wants._parked} == {tp(0)}
    reactor.ring()  # its time is over, and it gets another chance
    channel.answer()
    channel.answer(Part(0, [plain(0, size=100_000)]))
    assert stuck.queue
    assert stuck.shed()
    made.park(stuck)
    made._serving.lost(NODE, "the connection was lost")
    channel.asked.clear()
    made._serving.found()
    made._serving.opened(NODE)
    channel.answer(Part(0, [plain(0, size=100_000)]))
    assert stuck.queue  # a new connection asks for all


def test_a_lane_stands_still_from_when_memory_is_scarce(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("towpath.records.landing.relief.time.monotonic", lambda: now[0])
    reactor = StandInReactor()
    made, channel = fetcher(reactor, take, memory=8 * MIB)
    stuck = lane(0)
    Relief(reactor, made.budget.pool, {tp(0): stuck}, made)  # type: ignore[arg-type]
    made.add(stuck)
    channel.answer(Part(0, [plain(0, size=MIB)]))
    for _ in range(2):  # there is enough, so nobody looks at the lane
        reactor.ring()
        now[0] += 100
    frame = made.budget.pool.frame(6 * MIB)
    for seconds in (relief._PATIENCE, 1):
        reactor.ring()
        assert stuck.queue
        now[0] += seconds
    reactor.ring()
    assert not stuck.queue
    frame.release()
