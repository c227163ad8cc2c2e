"""Trouble on one side of a lane while there is trouble on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from unittest.mock import Mock

import pytest

from tests.support.copying.lanes import (
    Part,
    StandInReactor,
    damaged,
    lane,
    plain,
    stand_in_node,
    standing,
    took,
)
from tests.support.ledger.reasons import told
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.produce import Produced
from towpath.model.changes import RecordChange, Undeliverable
from towpath.model.errors import NotSetAsideError, RefusedError, TowpathError, UnreachableError
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.jobs import Jobs
from towpath.records.landing.refusals import Refusals
from towpath.records.landing.reopening import lane_reopening
from towpath.records.landing.target_side import TargetSide
from towpath.records.lane.lane import Lane
from towpath.records.permit import WritePermit
from towpath.records.source.events import SourceEvents
from towpath.records.source.reader import Elsewhere
from towpath.records.source.side import SourceSide
from towpath.records.source.trouble import LOOKS, SourceLoss, cut
from towpath.records.standing import Standing
from towpath.records.trouble import RECREATED
from towpath.records.work import Assignment
from towpath.settings import ClusterConfig

FORBIDDEN, NOT_LEADER, OUT_OF_ORDER, TOO_LARGE = 29, 6, 45, 10
OUT_OF_RANGE, CORRUPT, UNKNOWN_ID = 1, 2, 100


@dataclass
class StandInOpener:
    """Tells where lanes stand."""

    answer: Standing | TowpathError = field(default_factory=standing)
    thread: None = None

    def open(self, assignments: Sequence[Assignment]) -> dict[object, Standing | TowpathError]:
        return {a.source: self.answer for a in assignments}


class Sides(SourceEvents[Lane]):
    """Both sides of some lanes, without brokers."""

    def __init__(
        self, *, stop_on_gap: bool = True, elsewhere: Elsewhere[Lane] | None = None
    ) -> None:
        self._stop_on_gap, self._elsewhere = stop_on_gap, elsewhere
        self.reactor = StandInReactor()
        self.jobs = Jobs(self.reactor)  # type: ignore[arg-type]  # a stand-in
        self.opener = StandInOpener()
        self.producers = Mock()
        self.permit = WritePermit(0)
        self.asides = Mock()
        self.gaps: list[tuple[SourceLoss, bool]] = []
        """What is missing, and whether the lane went on behind it."""
        self.source = SourceSide[Lane](
            self.reactor,  # type: ignore[arg-type]  # a stand-in
            ClusterConfig(bootstrap=("host:1",)), Mock(), BufferPool(64 << 20), self.jobs,
            self, share=1 << 20,
        )  # fmt: skip
        self.fetcher = self.source.fetcher
        self.source_node = stand_in_node(self.fetcher)
        self.reopening = lane_reopening(
            self.jobs,
            self.opener,  # type: ignore[arg-type]  # a stand-in
            self.fetcher,
            self.producers,
            self.start,
        )
        self.target = TargetSide(
            Mock(),
            self.jobs,
            self.opener,  # type: ignore[arg-type]  # a stand-in
            self.producers,
            self.reopening,
            self.permit,
            Refusals(
                LinkName("l"), self.jobs, Mock(), Mock(), self.asides, self.reopening, self.permit
            ),
        )

    def stops_on_gap(self, reader: Lane) -> bool:
        del reader
        return self._stop_on_gap

    def stopped(self, reader: Lane, why: Reason) -> None:
        self.reopening.stop(reader, why)

    def gap(self, reader: Lane, lost: SourceLoss, *, goes_on: bool) -> None:
        del reader
        self.gaps.append((lost, goes_on))

    def taken_elsewhere(self, reader: Lane, lost: SourceLoss) -> bool:
        return self._elsewhere is not None and self._elsewhere.take(reader, lost)

    def start(self, lane: Lane, _front: int | None) -> None:
        self.fetcher.add(lane)

    def refused(self, lane: Lane, error: int) -> None:
        """Let the target answer everything that may fly with an error."""
        while lane.next_batch():
            pass
        lane.unanswered, lane.refused = 0, Produced(lane.work.target, error, -1)
        self.target.answered(lane)

    def work(self) -> None:
        """Do the oldest job."""
        job, _ = self.reactor.jobs[0]
        try:
            self.reactor.finish(job())
        except TowpathError as error:
            self.reactor.finish(error)


def test_a_lane_is_not_fetched_for_while_it_is_opened_again() -> None:
    sides, moved = Sides(), lane()
    sides.fetcher.add(moved)
    sides.source_node.answer(Part(0, [plain(0)]))
    sides.source_node.answer(Part(0, error=FORBIDDEN))
    sides.refused(moved, OUT_OF_ORDER)
    sides.reactor.ring()
    assert sides.source_node.asked == []
    sides.work()
    assert len(sides.source_node.asked) == 1
    assert (moved.busy, moved.expected) == (False, 0)


def test_what_stopped_a_lane_stands_when_its_reopening_comes_back() -> None:
    sides, stopped = Sides(), lane()
    sides.refused(stopped, OUT_OF_ORDER)
    sides.reactor.ring()
    sides.reopening.stop(stopped, told("source: it is no more"))
    sides.opener.answer = RefusedError("target", "opening", NOT_LEADER, "MOVED", retriable=True)
    sides.work()
    sides.reactor.ring()
    assert (stopped.progress.error, sides.reactor.jobs) == ("source: it is no more", [])


def test_an_opening_goes_on_until_it_is_answered() -> None:
    sides, moved = Sides(), lane()
    sides.opener.answer = RefusedError("target", "opening", NOT_LEADER, "MOVED", retriable=True)
    sides.refused(moved, OUT_OF_ORDER)
    sides.reactor.ring()
    sides.work()
    assert (moved.progress.error, moved.busy) == ("target: opening: MOVED (6)", True)
    sides.opener.answer = standing(3)
    sides.reactor.ring()
    sides.work()
    assert (moved.progress.error, moved.busy, moved.expected) == ("", False, 3)


def test_the_halves_of_a_batch_are_not_joined_again() -> None:
    sides, large = Sides(), lane()
    took(large, plain(0, 2, size=1200))
    sides.refused(large, TOO_LARGE)
    first = large.next_batch()
    assert first is not None
    assert (first.base, first.count) == (0, 1)


def landed(lane: Lane) -> list[int]:
    """Let everything land that may; return where it began at the source."""
    landed: list[int] = []
    while batch := lane.next_batch():
        landed.append(batch.base)
        lane.landed([TargetOffset(batch.base)])
    return landed


def test_what_was_read_is_copied_before_a_gap_stops_its_partition() -> None:
    """The source has removed it, too, so it is nowhere else."""
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, [plain(0), plain(1, size=5000)]))
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.reactor.finish(
        SourceLoss(SourceOffset(2), SourceOffset(9), SourceOffset(9), told("retention"))
    )
    assert not read.progress.stopped
    assert landed(read) == [0, 1]
    assert (read.progress.stopped, read.progress.position.source) == (True, 2)
    assert read.progress.error.startswith("offsets 2 to 8 were not copied: retention;")
    assert [(gap.first, gap.end, went_on) for gap, went_on in sides.gaps] == [(2, 9, False)]
    assert sides.source_node.asked == []


def deleted(first: int, end: int) -> SourceLoss:
    return SourceLoss(SourceOffset(first), SourceOffset(end), SourceOffset(end), told("retention"))


@pytest.mark.parametrize("gives", [False, True])
def test_another_place_is_asked_for_what_the_source_has_deleted(gives: bool) -> None:
    asked = Mock(take=Mock(return_value=gives))
    sides, read = Sides(elsewhere=asked), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.reactor.finish(deleted(0, 9))
    asked.take.assert_called_once_with(read, deleted(0, 9))
    assert read.progress.stopped is not gives
    assert len(sides.gaps) == (not gives)
    assert sides.source_node.asked == []


def test_no_other_place_is_asked_where_the_source_was_cut() -> None:
    asked = Mock()
    sides, read = Sides(elsewhere=asked), lane(at=4)
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.reactor.finish(cut(SourceOffset(2), SourceOffset(4)))
    asked.take.assert_not_called()
    assert read.progress.stopped


@pytest.mark.parametrize("stop", [False, True])
def test_what_a_lane_gives_back_while_the_source_is_asked_is_not_lost(stop: bool) -> None:
    sides, read = Sides(stop_on_gap=stop), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, [plain(0), plain(1, size=5000)]))
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    assert read.expected == 2
    assert read.shed()
    sides.reactor.finish(deleted(2, 9))
    assert (read.expected, read.progress.stopped, sides.gaps) == (0, False, [])
    assert len(sides.source_node.asked) == 1


def test_what_was_read_is_copied_before_a_topic_that_is_another_one_stops() -> None:
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, [plain(0)]))
    sides.source_node.answer(Part(0, error=UNKNOWN_ID))
    sides.reactor.finish(RECREATED)
    assert landed(read) == [0]
    assert (read.progress.stopped, read.progress.error) == (True, str(RECREATED))


@pytest.mark.parametrize("error", [OUT_OF_RANGE, UNKNOWN_ID])
def test_an_offset_out_of_range_of_another_topic_is_no_retention(error: int) -> None:
    """Brokers before Kafka 3.1 are asked by name, and so answer for the topic of today."""
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    admin = sides.source._source
    admin.offsets.earliest.return_value = {read.work.source: 40}  # type: ignore[attr-defined]  # a stand-in
    admin.offsets.latest.return_value = admin.offsets.earliest.return_value  # type: ignore[attr-defined]
    other = Mock(error=None, id="another")
    admin.topics.describe.return_value = {read.work.source.topic: other}  # type: ignore[attr-defined]
    sides.source_node.answer(Part(0, error=error))
    sides.work()
    assert (read.progress.stopped, read.progress.error) == (True, str(RECREATED))
    assert [(gap.why, went_on) for gap, went_on in sides.gaps] == [(RECREATED, False)]


def test_an_offset_that_is_in_range_after_all_is_asked_for_again_and_told() -> None:
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    admin = sides.source._source
    admin.offsets.earliest.return_value = {read.work.source: 0}  # type: ignore[attr-defined]  # a stand-in
    admin.offsets.latest.return_value = admin.offsets.earliest.return_value  # type: ignore[attr-defined]
    ours = Mock(error=None, id=read.work.source_id)
    admin.topics.describe.return_value = {read.work.source.topic: ours}  # type: ignore[attr-defined]
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.work()
    assert "source: fetching orders-0 at 0: OFFSET_OUT_OF_RANGE (1)" in read.progress.error
    assert sides.source_node.asked == []
    sides.reactor.ring()
    assert len(sides.source_node.asked) == 1


def test_nothing_that_the_source_has_unsaid_is_copied_before_a_cut_stops_its_partition() -> None:
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, [plain(0), plain(1, size=5000)]))
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.reactor.finish(cut(SourceOffset(1), SourceOffset(2)))
    assert (read.progress.stopped, landed(read)) == (True, [])


def test_a_partition_without_anything_queued_stops_at_once() -> None:
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    sides.source_node.answer(Part(0, error=OUT_OF_RANGE))
    sides.reactor.finish(
        SourceLoss(SourceOffset(0), SourceOffset(9), SourceOffset(9), told("retention"))
    )
    assert read.progress.stopped


def test_a_batch_that_is_too_large_and_damaged_is_fetched_anew() -> None:
    sides, large = Sides(), lane()
    took(large, damaged(plain(0, 2, size=1200)))
    sides.refused(large, TOO_LARGE)
    assert large.progress.error.startswith("source: the record batch at offset 0 of orders-0 is")
    assert (large.busy, large.openings) == (True, 1)


def test_a_quarantine_that_may_not_be_written_to_keeps_no_run_from_its_end() -> None:
    sides, large = Sides(), lane(end=1)
    change = RecordChange(undeliverable=Undeliverable.QUARANTINE)
    large.work = replace(large.work, change=change)
    what = "producing to __towpath_quarantine-0"
    forbidden = RefusedError("target", what, FORBIDDEN, "TOPIC_AUTHORIZATION_FAILED")
    sides.asides.put.side_effect = NotSetAsideError(0, forbidden)
    for _ in range(20):
        if large.stopped:
            break
        took(large, plain(0))
        sides.refused(large, TOO_LARGE)
        sides.work()  # to set it aside
        sides.reactor.ring()
        if sides.reactor.jobs:
            sides.work()  # to open the lane again
    trouble = large.progress.trouble
    assert trouble is not None
    assert (large.stopped, trouble.code) == (True, ReasonCode.NOT_SET_ASIDE)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(trouble)


def test_a_batch_that_was_damaged_behind_us_is_sent_again() -> None:
    sides, sent = Sides(), lane()
    took(sent, plain(0))
    sides.refused(sent, CORRUPT)
    assert (sent.busy, len(sent.queue.waiting), sent.openings) == (False, 1, 0)


def test_a_broker_that_cannot_read_its_log_is_asked_some_times() -> None:
    sides, read = Sides(), lane()
    sides.fetcher.add(read)
    for _ in range(LOOKS):
        assert not read.progress.stopped
        sides.source_node.answer(Part(0, error=CORRUPT))
        sides.reactor.ring()
    assert read.progress.stopped
    assert "offset 0 of orders-0 is damaged (CORRUPT_MESSAGE)" in read.progress.error


@pytest.mark.parametrize("error", [0, NOT_LEADER])
def test_answers_that_are_due_come_before_an_opening_where_a_look_failed(error: int) -> None:
    """One that came behind the opening would count for what is sent then."""
    sides, looking = Sides(), lane()
    looking.unanswered = 1
    sides.target.not_looked(looking, UnreachableError("target", "reading", "it is away"))
    assert (looking.openings, looking.next_batch()) == (0, None)
    looking.unanswered, looking.overtaken = 0, not error
    sides.target.answered(looking)
    assert (looking.openings, looking.busy) == (1, True)


def test_a_lane_whose_look_failed_waits_for_no_answer_of_a_lost_connection() -> None:
    sides, looking = Sides(), lane()
    looking.unanswered, looking.lost = 1, True
    sides.target.not_looked(looking, UnreachableError("target", "reading", "it is away"))
    assert (looking.openings, looking.busy) == (1, True)
