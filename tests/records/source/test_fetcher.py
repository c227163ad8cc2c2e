"""What a fetcher makes of answers that come at the wrong moment."""

from __future__ import annotations

from time import monotonic

import pytest

from tests.support.copying.lanes import (
    ABORT,
    COMMIT,
    NODE,
    Part,
    StandInReactor,
    fetcher,
    in_transaction,
    lane,
    marker,
    plain,
    standing,
)
from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.records.items import Batch
from towpath.records.lane.lane import Lane
from towpath.records.source.fetcher import Fetcher


def take(lane: Lane, frame: Frame, said: Fetched) -> None:
    lane.take(frame, said.start, said.end, said.aborted)


def queued(lane: Lane) -> list[int]:
    """Return the offsets of the batches that wait."""
    return [item.base for item in lane.queue.waiting if isinstance(item, Batch)]


def test_an_answer_from_before_a_reopening_is_not_taken_in() -> None:
    made, channel = fetcher(StandInReactor(), take)
    moved = lane()
    made.add(moved)
    channel.answer(Part(0, [plain(0), plain(1)]))
    moved.resume(standing(0))
    made.add(moved)
    channel.answer(Part(0, [plain(2)]))
    assert queued(moved) == []
    channel.answer(Part(0, [plain(0), plain(1)]))
    assert queued(moved) == [0]  # both in one
    assert moved.expected == 2


def test_nothing_is_asked_before_the_whole_answer_is_taken_in() -> None:
    """One of the lanes is added again in the middle, as after a gap."""
    made: Fetcher[Lane]
    expected: list[int] = []

    def on_data(lane: Lane, frame: Frame, said: Fetched) -> None:
        if lane is first:
            expected.append(len(channel.asked))
            made.remove(lane)
            made.add(lane)
            expected.append(len(channel.asked))
        lane.take(frame, said.start, said.end, said.aborted)

    made, channel = fetcher(StandInReactor(), on_data)
    first, second = lane(0), lane(1)
    made.add(first)
    made.add(second)
    channel.answer(Part(0, [plain(0)]))
    expected.clear()
    channel.answer(Part(0, [plain(1)]), Part(1, [plain(0)]))
    assert expected == [0, 0]
    assert queued(second) == [0]
    assert len(channel.asked) == 1


def test_an_aborted_transaction_ends_with_its_answer() -> None:
    """A repeated answer tells of it again, when its marker is behind us already."""
    made, channel = fetcher(StandInReactor(), take)
    read = lane()
    made.add(read)
    aborted = [in_transaction(0, 5), marker(1, 5, ABORT)]
    channel.answer(Part(0, aborted, aborted=[(5, 0)]))
    committed = [in_transaction(2, 5), marker(3, 5, COMMIT)]
    channel.answer(Part(0, [*aborted, *committed], aborted=[(5, 0)]))
    channel.answer(Part(0, [in_transaction(4, 5), marker(5, 5, COMMIT)]))
    assert queued(read) == [2, 4]


def test_what_came_damaged_from_a_replica_near_us_is_asked_of_the_leader() -> None:
    made, _ = fetcher(StandInReactor(), take, rack="near")
    doubted = lane()
    made.add(doubted)
    assert made._requests.sessions[NODE].rack == "near"
    made._near.go(doubted.work.source, NODE)
    made.doubt(doubted)
    made.budget.over(NODE)
    made.add(doubted)
    assert made._requests.sessions[NODE].rack == ""


def test_a_reader_that_comes_a_moment_after_another_one_waits_for_no_long_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = monotonic()
    made, channel = fetcher(StandInReactor(), take)
    made.add(lane(0))
    made.add(lane(1))
    channel.answer()
    assert max(channel.waits) <= 10
    monkeypatch.setattr("time.monotonic", lambda: now + 10)
    channel.answer()
    assert channel.waits[-1] == 500
