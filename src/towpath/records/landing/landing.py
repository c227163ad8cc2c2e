"""The lanes of one slice, and their writes to the target, fed by any source."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.produce import Produced
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Gap
from towpath.model.errors import ClusterError, RefusedError, TowpathError
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.change_services import NOTHING, ChangeServices
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.landing.closing import leave_remembered
from towpath.records.landing.doubles import Doubles
from towpath.records.landing.fills import Fills
from towpath.records.landing.leaving import Leaving
from towpath.records.landing.log_starts import LogStarts
from towpath.records.landing.moved import MovedBeginnings
from towpath.records.landing.quarantining import SliceQuarantine
from towpath.records.landing.refusals import Refusals
from towpath.records.landing.relief import Relief
from towpath.records.landing.reopening import lane_reopening
from towpath.records.landing.target_side import TargetSide
from towpath.records.landing.transacting import Transactor
from towpath.records.landing.waits import Waits
from towpath.records.lane.lane import LANE_BYTES, Lane
from towpath.records.lane.reshape import SMALL, SMALL_TOGETHER
from towpath.records.permit import WritePermit
from towpath.records.receipts import Receipts
from towpath.records.source.pace import Pace
from towpath.records.source.reader import Feed
from towpath.records.source.trouble import SourceLoss
from towpath.records.standing import Standing
from towpath.records.target.marking import MarkerFiller
from towpath.records.target.opening import Opener
from towpath.records.target.producer import MANY, Producer, Producers
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms


class Landing:
    """Moves lanes: sends their batches, fills gaps, and writes receipts.

    Args:
        work: The slice.
        reactor: Everything happens in its thread.
        target: The control plane of the target.
        opener: Finds where partitions stand.
        feed: Makes the feed of the lanes, which keeps to `pace`, and may call `go`, `stop`,
            `note_gap` and `begin_later` from then on.
        outside: What lanes need that change records.

    Attributes:
        lanes: By source partition.
        feed: Hands batches to the lanes.
        permit: The right to write.
        pool: Memory for all batches between source and target.
        pace: Limits on the bytes per second that are fetched.
        receipts: Writes receipts to the ledger.
        leaving: Removes lanes.
    """

    def __init__(
        self,
        work: Slice,
        reactor: Reactor,
        target: Admin,
        opener: Opener,
        feed: Callable[[Landing], Feed[Lane]],
        outside: ChangeServices = NOTHING,
    ) -> None:
        self._unfed: set[Lane] = set()
        """Lanes that are not fed, because they take in nothing now."""
        self._work, self.reactor, self._target = work, reactor, target
        self.lanes: dict[TopicPartition, Lane] = {}
        self.permit = WritePermit(work.target_memory_ms)
        self._was_good = True
        self._small = SMALL
        self.pool = BufferPool(work.memory)
        self.jobs = Jobs(reactor)
        self.pace = Pace(reactor)
        self.pace.follow(work.rates)
        self.feed = feed(self)
        Relief(reactor, self.pool, self.lanes, self.feed)
        self.producers = Producers[Lane](self._producer)
        self.receipts = Receipts(work, target, reactor, self.jobs, self.lanes)
        self.leaving = Leaving(self.feed, self.producers, opener, self.receipts, self.lanes)
        self._reopening = lane_reopening(self.jobs, opener, self.feed, self.producers, self._start)
        self._clients = ClientPool(work.target, Side.TARGET, target)
        asides = SliceQuarantine(work.link, target, self._clients)
        self._outside = replace(outside, quarantine=outside.quarantine or asides)
        refusals = Refusals(
            work.link, self.jobs, target, self._clients, asides, self._reopening, self.permit
        )
        side = TargetSide(
            target, self.jobs, opener, self.producers, self._reopening, self.permit, refusals
        )
        self._side = side
        self._markers = MarkerFiller(target, work.target.request_timeout)
        self._doubles = Doubles(
            self.jobs,
            self._clients,
            on_landed=self._acknowledged,
            on_wrong=side.landed_elsewhere,
            on_failed=side.not_looked,
        )
        self._fills = Fills(
            work,
            self.jobs,
            target,
            self._clients,
            self._markers,
            on_filled=self._landed,
            on_failed=side.failed,
        )
        self._fronts = LogStarts(
            self.jobs,
            target,
            self._clients,
            self._markers,
            on_filled=self._join,
            on_failed=self._unfilled,
        )
        self._moved = MovedBeginnings(
            self.jobs, target, self._fronts, on_moved=self._join, on_failed=self._unfilled
        )
        self._told_fronts: dict[TopicPartition, Reason] = {}
        """Why fronts could not be filled, as far as the ledger has it, by source partition."""
        self._transactor = Transactor(
            self.jobs, self._clients, on_landed=self._landed, on_failed=side.failed
        )
        self._waits = Waits(self.jobs, go=self.go, stop=self.stop)

    def _producer(self) -> Producer[Lane]:
        return Producer[Lane](
            self.reactor,
            self._work.target,
            self._target,
            self.pool,
            self.permit,
            on_answer=self._answer,
            on_lost=self._lost,
            on_trouble=self._target_trouble,
        )

    def close(self) -> None:
        """Close every connection and thread."""
        self.jobs.close()
        self._markers.close()
        self._waits.close()
        self._clients.close()
        self.feed.close()
        self.producers.close()
        self.reactor.close()
        self.receipts.close()
        self.pool.close()

    @property
    def throttled(self) -> float:
        """Seconds for which target brokers throttled the slice."""
        return self.producers.throttled + self._target.throttled

    def share_out(self, count: int) -> None:
        """Share memory and connections among `count` partitions."""
        memory = self._work.memory
        self.pool.limit = memory - min(memory // 2, LANE_BYTES * count)
        self.feed.share = memory // max(1, count)
        self.producers.serve(count)
        self._small = SMALL_TOGETHER if count >= MANY else SMALL

    def connect(self, assignments: Iterable[Assignment]) -> None:
        """Connect to all leaders of partitions that are begun later."""
        assignments = [*assignments]
        self.feed.connect(each.source for each in assignments)
        self.producers.connect(each.target for each in assignments)

    def turn(self, longest: float) -> None:
        """Wait at most `longest` seconds for an event, and handle all events."""
        self.permit.pauses()
        self.reactor.turn(longest)
        self.producers.pump_all()
        self.feed.refill()
        self.leaving.look()
        good = self.permit.good
        if good and not self._was_good:
            for lane in self.lanes.values():
                self.go(lane)
        self._was_good = good

    def leave_remembered(self) -> None:
        """Keep producer state alive after old records, at the end of the run. Blocking."""
        leave_remembered(self._target, self.lanes.values(), self.permit.remembered_from)

    # Lanes

    def begin(self, assignment: Assignment, standing: Standing) -> None:
        """Make a lane for an opened partition."""
        lane = Lane(assignment, standing, self._small, self._outside)
        self.lanes[assignment.source] = lane
        if standing.leader is not None:
            self.producers.of(lane).nodes.learn(lane.target, standing.leader)
        self._start(lane, standing.front)

    def go(self, lane: Lane) -> None:
        """Start everything that a lane can do now."""
        self._feed_or_not(lane)
        if lane.progress.stopped:
            self.feed.remove(lane)
            lane.queue.drop_waiting()
        elif not self.permit.good:
            return  # `turn` continues as soon as it is
        elif lane.outdated:
            self._open_again(lane)
        else:
            self._go_on(lane)

    def _go_on(self, lane: Lane) -> None:
        lane.pass_over()  # else a wait or a fill behind it would not be due before more data comes
        if lane.queue.due_wait is not None:
            self._waits.go(lane)
        elif lane.writer is not None:
            self._transactor.go(lane)
        elif lane.queue.waiting:
            self._fills.go(lane, self.producers.of(lane).mark(lane))

    def _feed_or_not(self, lane: Lane) -> None:
        """Fetch nothing for a lane that takes in nothing now, and go on as soon as it does."""
        if lane.holds == (lane in self._unfed) or lane.stopped or lane.busy:
            return
        if lane.holds:
            self._unfed.add(lane)
            self.feed.remove(lane)
        else:
            self._unfed.discard(lane)
            self.feed.add(lane)

    def _open_again(self, lane: Lane) -> None:
        """Open a lane under the change of the file, once the ledger knows where it stands."""
        if not lane.busy:
            lane.busy = True
            self.feed.remove(lane)
            self.receipts.when_written(lane, lambda: self._reopening.reopen(lane))

    def ask_again(self) -> None:
        """Check the conditions that lanes wait for now."""
        self._waits.ask_again()

    def stop(self, lane: Lane, why: Reason) -> None:
        """Stop a lane, and record why."""
        self._reopening.stop(lane, why)

    def begin_later(self, lane: Lane, start: SourceOffset) -> None:
        """Let a lane that has copied nothing begin at a later source offset."""
        self._moved.go(lane, start)

    def note_gap(self, lane: Lane, lost: SourceLoss, went_on: bool) -> None:
        """Write to the ledger which records of a lane are lost at the source."""
        self.note(lane.work, lost, went_on=went_on)

    def note(self, a: Assignment, lost: SourceLoss, *, went_on: bool) -> None:
        """Write to the ledger which records of a partition are lost at the source."""
        self.receipts.note(
            Gap(
                link=self._work.link,
                topic=a.source.topic,
                partition=a.source.partition,
                producer_id=a.producer_id,
                first=lost.first,
                end=lost.end,
                why=lost.why,
                went_on=went_on,
                at=now_ms(),
                # Records from before a cut are on their way; the lane tells when it went back.
                target=TargetOffset(-1) if lost.go_on < lost.end else None,
            )
        )

    def _start(self, lane: Lane, front: TargetOffset | None) -> None:
        """Let a lane move that was just opened, after its log is filled up to `front`."""
        if front is None:
            self._join(lane)
        else:
            self._fronts.go(lane, front)

    def _unfilled(self, lane: Lane, error: TowpathError) -> None:
        """Write down why a front cannot be filled: until it is, no receipt may tell it."""
        lasts = isinstance(error, RefusedError) and not error.retriable
        if lasts and self._told_fronts.get(lane.source) != error.reason:
            self._told_fronts[lane.source] = error.reason
            at = lane.progress.position.source
            self.note_gap(lane, SourceLoss(at, at, at, error.reason), went_on=False)
        self._side.unfilled(lane, error)

    def _join(self, lane: Lane) -> None:
        if lane.progress.front:
            # A receipt says that the front is filled, and that what hindered it before is over.
            lane.progress.front, lane.progress.changed = False, True
        self._told_fronts.pop(lane.source, None)
        if lane in self.leaving:
            return
        self._unfed.discard(lane)
        if lane.outdated:
            self._open_again(lane)
            return
        if lane.writer is None:
            self.producers.of(lane).add(lane)
        else:
            self.producers.of(lane).remove(lane)
        self.feed.add(lane)

    # Answers of the target

    def _answer(self, lane: Lane, said: Produced) -> None:
        lane.unanswered -= 1
        if said.error or lane.refused is not None:
            lane.overtaken |= not said.error
            lane.refused = lane.refused or said
            self._side.answered(lane)
            return
        self._doubles.landed(lane, TargetOffset(said.base_offset))

    def _acknowledged(self, lane: Lane) -> None:
        self._landed(lane)
        self._side.answered(lane)
        self._side.find_again(lane)

    def _landed(self, lane: Lane) -> None:
        lane.progress.relieve(Side.TARGET)
        lane.failures = 0
        self.feed.room(lane)
        self.go(lane)

    # The target side is made after the producers, which report trouble to it

    def _target_trouble(self, lane: Lane, error: ClusterError, hopeless: bool) -> None:
        self._side.unreachable(lane, error, hopeless)

    def _lost(self, lane: Lane, node: int) -> None:
        self._side.lost(lane, node)
