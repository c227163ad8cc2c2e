"""What is done about trouble that a lane has at the source; the others go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.codes import code, refused
from towpath.cluster.data.fetch import Fetched
from towpath.ledger.entries import Gap
from towpath.model.clock import now_ms
from towpath.model.errors import ClusterError, RefusedError, TowpathError
from towpath.model.nouns import Side, TopicPartition
from towpath.model.reasons import Code, Reason
from towpath.records.jobs import Jobs
from towpath.records.lane.lane import Lane
from towpath.records.source.fetcher import Fetcher
from towpath.records.target.reopening import Reopening, given_up, unreachable
from towpath.records.trouble import (
    DELETED,
    LOOKS,
    RECREATED,
    Loss,
    SourceTrouble,
    back_off,
    cut,
    damage,
    loss,
    source_trouble,
)
from towpath.records.work import Slice


class SourceSide:
    """Asks again, tells of gaps, goes on behind them, or stops lanes."""

    def __init__(
        self,
        work: Slice,
        source: Admin,
        jobs: Jobs,
        fetcher: Fetcher,
        reopening: Reopening,
        *,
        note_gap: Callable[[Gap], None],
        begin_later: Callable[[Lane, int], None],
        go: Callable[[Lane], None],
    ) -> None:
        self._work, self._source, self._jobs = work, source, jobs
        self._fetcher, self._reopening = fetcher, reopening
        self._note_gap, self._begin_later, self._go = note_gap, begin_later, go

    def answered(self, lane: Lane, said: Fetched) -> None:
        """Deal with a fetch answer that is no data."""
        match source_trouble(said):
            case SourceTrouble.RETRY:
                self._refused(lane, said)
                self._fetcher.moved(lane, back_off(lane.failures - 1))
            case SourceTrouble.FORBIDDEN:
                error = self._refused(lane, said)
                self._fetcher.remove(lane)
                self._ask_later(lane, error)
            case SourceTrouble.CUT:
                end = said.diverging[1] if said.diverging else lane.expected
                lost = cut(end, lane.expected)
                self._look(lane, said, lambda: lost)
            case SourceTrouble.DAMAGED:
                self.damaged(lane, code(said.error).name)
            case SourceTrouble.RANGE:
                self._look(lane, said, partial(self._range, said.tp, lane.expected))
            case SourceTrouble.GONE:
                self._look(lane, said, lambda: None)
            case SourceTrouble.NONE:
                pass

    def damaged(self, lane: Lane, why: str) -> None:
        """The batch where the lane stands is damaged: look again, some times, then stop."""
        damaged = damage(lane.work.source, lane.expected, why)
        looks = lane.look(lane.expected)
        self._fetcher.doubt(lane)
        if looks < LOOKS:
            lane.progress.hinder(Side.SOURCE, damaged)
            self._jobs.later(lane, back_off(looks), lambda: self._fetcher.add(lane))
        else:
            self._end(lane, damaged)

    def unreachable(self, lane: Lane, error: ClusterError, hopeless: bool) -> None:
        """The leader at the source cannot be reached now."""
        unreachable(lane, Side.SOURCE, error, self._end, hopeless=hopeless)

    def _refused(self, lane: Lane, said: Fetched) -> RefusedError:
        acl = f"Read on topic {said.tp.topic}"
        error = refused(Side.SOURCE, f"fetching {said.tp}", said.error, acl=acl)
        lane.failures += 1
        lane.progress.hinder(Side.SOURCE, error.reason)
        return error

    def _ask_later(self, lane: Lane, error: TowpathError) -> None:
        if given_up(lane, error):
            self._end(lane, error.reason)
        else:
            self._jobs.later(lane, back_off(lane.failures - 1), lambda: self._fetcher.add(lane))

    # Looking what happened

    def _look(self, lane: Lane, said: Fetched, lost: Callable[[], Loss | None]) -> None:
        """Look whether the topic is still ours, then what of it is lost.

        Before Kafka 3.1 topics are fetched by name: another topic of that name looks like the same
        one after retention, or after a cut. So the identity is read behind the offsets.
        """

        def work() -> Reason | Loss | None:
            what = lost()
            return self._identity(lane) or what

        def found(what: Reason | Loss | None) -> None:
            if isinstance(what, Loss):
                self._lost(lane, what)
            elif what is not None:
                self._gap(lane, lane.expected, lane.expected, what, went_on=False)
                self._end(lane, what)
            else:
                asking = f"fetching {said.tp} at {lane.expected}"
                self._nothing_found(lane, refused(Side.SOURCE, asking, said.error))

        self._fetcher.remove(lane)
        self._jobs.look(lane, work, found, lambda error: self._nothing_found(lane, error))

    def _range(self, tp: TopicPartition, expected: int) -> Loss | None:
        earliest, latest = self._source.earliest([tp])[tp], self._source.latest([tp])[tp]
        return loss(expected, earliest, latest)

    def _identity(self, lane: Lane) -> Reason | None:
        """Return why the topic is not ours any more, `None` when it is."""
        found = self._source.topics([lane.work.source.topic]).get(lane.work.source.topic)
        if found is None:
            return DELETED
        if found.error is not None:
            raise found.error
        return None if found.id == lane.work.source_id else RECREATED

    def _nothing_found(self, lane: Lane, error: TowpathError) -> None:
        lane.progress.hinder(Side.SOURCE, error.reason)
        lane.failures += 1
        self._ask_later(lane, error)

    # Records that cannot be had

    def _lost(self, lane: Lane, what: Loss) -> None:
        if what.go_on > lane.expected and lane.work.from_earliest and lane.untouched:
            self._begin_later(lane, what.go_on)
            return
        stop = self._work.stop_on_gap
        self._gap(lane, what.first, what.end, what.why, went_on=not stop)
        first, last = what.first, what.end - 1
        if stop:
            gap = Reason.of(Code.GAP, first=first, last=last, why=what.why)
            if first < lane.expected:
                self._reopening.stop(lane, gap)  # what was read is true no more
            else:
                self._end(lane, gap)
            return
        why = Reason.of(Code.RECORDS_MISSING, first=first, last=last, why=what.why)
        lane.jump(what.go_on, why)
        self._go(lane)
        self._fetcher.add(lane)

    def _gap(self, lane: Lane, first: int, end: int, why: Reason, *, went_on: bool) -> None:
        tp, producer = lane.work.source, lane.work.producer_id
        self._note_gap(
            Gap(
                self._work.link, tp.topic, tp.partition, producer,
                first, end, why, went_on, now_ms(),
            )
        )  # fmt: skip

    def _end(self, lane: Lane, why: Reason) -> None:
        """Fetch no more, copy what was read, then stop."""
        self._fetcher.remove(lane)
        lane.end(why)
        self._go(lane)
