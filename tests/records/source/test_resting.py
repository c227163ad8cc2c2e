"""Readers without news rest in a fetch session of their own, and no record waits for the change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.copier import BackDoor, copier, endless, going
from tests.support.copying.lanes import NODE, Part, StandInReactor, lane, plain, resting_fetcher
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.dev.broker import LocalCluster
from towpath.records.items import Batch
from towpath.records.lane.lane import Lane
from towpath.records.source import resting
from towpath.records.source.resting import RestingFetcher


def take(lane: Lane, frame: Frame, said: Fetched) -> None:
    lane.take(frame, said.start, said.end, said.aborted)


def queued(lane: Lane) -> list[int]:
    return [item.base for item in lane.queue.waiting if isinstance(item, Batch)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the fetcher, for the test to turn."""
    now = [0.0]
    monkeypatch.setattr("towpath.records.source.resting.monotonic", lambda: now[0])
    return now


def test_a_reader_without_news_rests_until_its_first_record(
    clock: list[float],
) -> None:
    reactor = StandInReactor()
    made, busy, quiet = resting_fetcher(reactor, take)
    idle, moving = lane(0), lane(1)
    made.add(idle)
    made.add(moving)
    busy.answer(Part(1, [plain(0)]))
    clock[0] = resting._REST
    busy.answer(Part(1, [plain(1)]))
    clock[0] += 1
    reactor.ring()
    assert quiet.asked
    assert made.node(idle) is None
    assert made.node(moving) == NODE
    quiet.answer(Part(0, [plain(0)]))
    assert queued(idle) == [0]
    assert made.node(idle) is None  # a request is under way that does not name it
    quiet.answer(Part(0, [plain(1)]))
    assert queued(idle) == [0, 1]  # so it is served where it rested
    busy.answer()
    assert made.node(idle) == NODE
    quiet.answer(Part(0, [plain(2)]))
    assert queued(idle) == [0, 1]  # that was asked for before it changed
    busy.answer(Part(0, [plain(2)]))
    assert queued(idle) == [0, 1, 2]


def test_a_reader_goes_on_until_the_request_that_takes_it_over(clock: list[float]) -> None:
    reactor = StandInReactor()
    made, busy, quiet = resting_fetcher(reactor, take)
    first, second = lane(0), lane(1)
    made.add(first)
    made.add(second)
    busy.answer()
    clock[0] = resting._REST + 1
    made.remove(second)
    reactor.ring()
    assert made.node(first) is None
    made.add(second)
    clock[0] *= 2
    reactor.ring()
    assert made.node(second) == NODE  # the resting session has a request under way
    busy.answer()
    busy.answer(Part(1, [plain(0)]))
    assert queued(second) == [0]
    quiet.answer()
    assert made.node(second) is None
    busy.answer(Part(1, [plain(1)]))
    assert queued(second) == [0]
    quiet.answer(Part(1, [plain(1)]))
    assert queued(second) == [0, 1]


def test_what_goes_wrong_with_a_resting_reader_brings_it_back(clock: list[float]) -> None:
    reactor = StandInReactor()
    made, busy, quiet = resting_fetcher(
        reactor, lambda lane, *_: made.moved(lane, 0.0) if made.node(lane) is None else None
    )
    only = lane(0)
    made.add(only)
    busy.answer()
    clock[0] = resting._REST + 1
    reactor.ring()
    assert made.node(only) is None
    quiet.answer(Part(0, error=6))
    made._serving.found()
    assert made.node(only) == NODE


def test_records_that_come_together_cost_a_resting_session_one_request(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    reactor = StandInReactor()
    made, busy, quiet = resting_fetcher(reactor, take)
    first, second = lane(0), lane(1)
    made.add(first)
    made.add(second)
    busy.answer()
    clock[0] = resting._REST + 1
    reactor.ring()
    monkeypatch.setattr("towpath.records.source.fetcher.LOOKED_AT", 1)
    quiet.answer(Part(0, [plain(0)]))
    assert queued(first) == [0]
    assert not quiet.asked
    reactor.ring()
    assert len(quiet.asked) == 1
    quiet.answer()
    assert len(quiet.asked) == 1  # nothing came, so nothing is saved by waiting


@pytest.mark.broker
def test_records_stay_in_order_while_partitions_rest_and_wake(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
) -> None:
    for name, seconds in (("_REST", 0.05), ("_LOOK", 0.02), ("_WAIT", 0.2)):
        monkeypatch.setattr(resting, name, seconds)
    monkeypatch.setattr("towpath.records.copy.RESTING", 1)
    mirror = BackDoor(tmp_path, source, target, new_name("resting"))
    mirror.create(2)
    work = endless(mirror.slices()[0])
    with copier(work, work.source, work.target) as made, going(made):
        feed = made.landing.feed
        assert isinstance(feed, RestingFetcher)

        def rests() -> bool:
            lanes = list(made.landing.lanes.values())
            return len(lanes) == 2 and all(feed.node(lane) is None for lane in lanes)

        def copied() -> int:
            return end_offsets(target.back_door, mirror.topic)[1]

        for number in range(20):
            wait_until(rests, "both partitions rest")
            for half in range(2):
                produce(source.back_door, mirror.topic, [Record(None, b"%d" % (2 * number + half))])
            wait_until(lambda: copied() == 2 * number + 2, "it is copied")  # noqa: B023  # at once
    values = [record.value for record in consume(target.back_door, mirror.topic)]
    assert values == [b"%d" % number for number in range(40)]
