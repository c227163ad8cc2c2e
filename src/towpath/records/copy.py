"""What a copy slice does: whole batches from source leaders to target leaders until told to stop.

One thread moves the bytes (the reactor); a small pool does what blocks; one thread listens for the
end of the round. Receipts go to the ledger about once a second for every partition that moved.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import healable
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.client import Client
from towpath.cluster.data.produce import Produced
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Dealt, Gap
from towpath.ledger.ledger import Ledger
from towpath.model.clock import now_ms
from towpath.model.errors import ClusterError, RepeatedError, TowpathError
from towpath.model.nouns import Mode, Side, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.clients import Clients
from towpath.records.jobs import Jobs
from towpath.records.lane.lane import LANE_BYTES, MANY, SMALL, SMALL_TOGETHER, Lane
from towpath.records.lane.progress import Standing
from towpath.records.lane.waits import Waits
from towpath.records.lease import Lease
from towpath.records.receipts import Receipts
from towpath.records.relief import Relief
from towpath.records.source.beginnings import Beginnings
from towpath.records.source.side import SourceSide
from towpath.records.target.doubles import Doubles
from towpath.records.target.fills import Fills
from towpath.records.target.fronts import Fronts
from towpath.records.target.marking import MarkerFiller
from towpath.records.target.moved import MovedBeginnings
from towpath.records.target.opening import Opener
from towpath.records.target.producer import Producer, Producers
from towpath.records.target.reopening import lane_reopening
from towpath.records.target.side import TargetSide
from towpath.records.target.transacting import Transactor
from towpath.records.trouble import Loss, hopeless
from towpath.records.watch import End, Watch
from towpath.records.work import UNKNOWN, Assignment, Slice, Summary, Throttled, from_data

_TURN = 0.25
_DRAIN = 15.0
_RETRY_OPEN = 1.0


def copy(work: Slice, throttled: Throttled | None = None) -> Iterator[Summary]:
    """Copy the partitions of `work` until its round ends; return what was done with each.

    Args:
        work: The slice.
        throttled: Told at the end for how long brokers asked to wait.

    Raises:
        ClusterError: The source or the target could not be reached at all.
        RepeatedError: Spark has begun the slice again elsewhere.
    """
    with ExitStack() as stack:
        source = stack.enter_context(Admin(work.source, Side.SOURCE))
        target = stack.enter_context(Admin(work.target, Side.TARGET))
        client = stack.enter_context(Client(work.target, Side.TARGET, target))
        ledger = Ledger(target, client)
        books = LinkBooks(work.link, frozenset(each.source for each in work.assignments))
        opener = Opener(work, target, client, ledger, books)
        stack.callback(opener.close)
        copier = Copier(work, source, target, opener)
        stack.callback(copier.close)
        copier.run()
        if throttled is not None:
            throttled |= copier.throttled()
        yield from copier.summaries()


class Copier:
    """The lanes of one slice and everything that serves them."""

    def __init__(self, work: Slice, source: Admin, target: Admin, opener: Opener) -> None:
        self._work, self._opener = work, opener
        self._source, self._target = source, target
        self._assigned = {each.source: each for each in work.assignments}
        self._lanes: dict[TopicPartition, Lane] = {}
        self._closed_out: dict[TopicPartition, Reason] = {}
        self._unopened: dict[TopicPartition, Reason] = {}
        """Why partitions could not be opened so far."""
        self._reactor = Reactor()
        self._lease = Lease(work.target_memory_ms)
        self._was_good = True
        self._pool = pool = BufferPool(work.memory)
        self._jobs = Jobs(self._reactor)
        self._fetcher = SourceSide[Lane](
            self._reactor, work.source, source, pool, self._jobs,
            share=work.memory, stop_on_gap=work.stop_on_gap,
            go=self._go, stop=self._stop, on_gap=self._gap, begin_later=self._begin_later,
        ).fetcher  # fmt: skip
        Relief(self._reactor, pool, self._lanes, self._fetcher)
        self._producers = Producers(
            lambda: Producer(
                self._reactor, work.target, target, pool, self._lease,
                on_answer=self._answer, on_lost=self._lost, on_trouble=self._target_trouble,
            ),
        )  # fmt: skip
        self._receipts = Receipts(work, target, self._reactor, self._lanes)
        self._reopening = lane_reopening(
            self._jobs, opener, self._fetcher, self._producers, self._start
        )
        self._target_side = TargetSide(target, self._jobs, opener, self._producers, self._reopening)
        self._beginnings = Beginnings(
            self._reactor, source, work.source.request_timeout,
            on_found=lambda assignment: self._open([assignment]), on_failed=self._close_out,
        )  # fmt: skip
        self._clients = Clients(work.target, Side.TARGET, target)
        self._doubles = Doubles(
            self._jobs, self._clients, on_landed=self._acknowledged,
            on_wrong=self._target_side.landed_elsewhere, on_failed=self._target_side.not_looked,
        )  # fmt: skip
        self._markers = MarkerFiller(target, work.target.request_timeout)
        self._fills = Fills(
            work, self._jobs, target, self._clients, self._markers,
            on_filled=self._landed, on_failed=self._target_side.failed,
        )  # fmt: skip
        self._fronts = Fronts(
            self._jobs, target, self._clients, self._markers,
            on_filled=self._join, on_failed=self._target_side.unfilled,
        )  # fmt: skip
        self._moved = MovedBeginnings(
            self._jobs, target, self._fronts,
            on_moved=self._join, on_failed=self._target_side.unfilled,
        )  # fmt: skip
        self._transactor = Transactor(
            self._jobs, self._clients,
            on_landed=self._landed, on_failed=self._target_side.failed,
        )  # fmt: skip
        self._waits = Waits(self._jobs, go=self._go, stop=self._reopening.stop)
        self._watch_client = Client(work.target, Side.TARGET, target)
        self._watch = Watch(
            Ledger(target, self._watch_client), work, self._lease, self._end,
            self._reactor, self._dealt,
        )  # fmt: skip
        self._ended: End | None = None
        self._share_out()

    def run(self) -> None:
        """Copy until the round ends, then drain and write the last receipts."""
        limit = time.monotonic() + self._work.seconds
        self._watch.start()
        self._begin_all(self._work.assignments)
        self._receipts.begin()
        while not self._ended and time.monotonic() < limit and not self._finished():
            self._turn(_TURN)
        self._drain()
        if self._ended is End.REPEATED:
            raise RepeatedError

    def close(self) -> None:
        """Close every connection and thread."""
        self._jobs.close()
        self._markers.close()
        self._beginnings.close()
        self._waits.close()
        self._watch.finish()
        self._watch_client.close()
        self._watch.join()
        self._clients.close()
        self._fetcher.nodes.close()
        self._producers.close()
        self._reactor.close()
        self._receipts.close()

    def throttled(self) -> Throttled:
        """Return for how long brokers asked to wait."""
        return {
            Side.SOURCE: self._fetcher.throttled + self._source.throttled,
            Side.TARGET: self._producers.throttled + self._target.throttled,
        }

    def summaries(self) -> Iterator[Summary]:
        """Tell what was done with each partition."""
        for tp, lane in self._lanes.items():
            done = lane.progress
            yield Summary(
                tp, done.position.source, done.position.target, done.copied_records,
                done.copied_bytes, done.mode, done.reasons, done.trouble, lane.unanswered > 0,
            )  # fmt: skip
        for tp in self._assigned.keys() - self._lanes.keys():
            why = self._closed_out.get(tp) or self._unopened.get(tp)
            yield Summary(tp, -1, -1, 0, 0, Mode.MAPPED, (), why, not self._opener.settled(tp))

    def _turn(self, longest: float) -> None:
        self._lease.pauses()
        self._reactor.turn(longest)
        self._producers.pump_all()
        self._fetcher.refill()
        good = self._lease.good
        if good and not self._was_good:
            for lane in self._lanes.values():
                self._go(lane)
        self._was_good = good

    def _finished(self) -> bool:
        """Whether all that the slice should copy is copied, as far as it goes."""
        if not self._work.ends or any(each.end is None for each in self._assigned.values()):
            return False
        if len(self._lanes) + len(self._closed_out) < len(self._assigned):
            return False
        return all(
            lane.progress.stopped or (lane.progress.done and not lane.busy)
            for lane in self._lanes.values()
        )

    def _end(self, end: End) -> None:
        self._ended = end
        self._reactor.soon(lambda: None)  # it wakes up

    # Opening

    def _dealt(self, dealt: Dealt) -> None:
        """Copy more partitions; those that are copied already may be among them."""
        fresh = [a for a in from_data(dealt.partitions) if a.source not in self._assigned]
        if not fresh or self._fetcher.ended:
            return
        self._assigned |= {each.source: each for each in fresh}
        self._share_out()
        self._jobs.run(
            lambda: self._opener.add(fresh, dealt.facts_from, settled=dealt.settled),
            lambda failed: self._added(dealt, fresh, failed), self._opener.thread,
        )  # fmt: skip

    def _added(
        self, dealt: Dealt, fresh: Sequence[Assignment], failed: TowpathError | None
    ) -> None:
        if failed is None:
            self._begin_all(fresh)
            return
        for each in fresh:
            del self._assigned[each.source]
        self._reactor.later(_RETRY_OPEN, lambda: self._dealt(dealt))

    def _share_out(self) -> None:
        """Share memory and connections among all partitions."""
        work, count = self._work, len(self._assigned)
        self._pool.limit = work.memory - min(work.memory // 2, LANE_BYTES * count)
        self._fetcher.share = work.memory // max(1, count)
        self._producers.serve(count)

    def _begin_all(self, assignments: Iterable[Assignment]) -> None:
        """Open partitions; those of which the source has not told all are opened when it has."""
        known: list[Assignment] = []
        unknown: list[Assignment] = []
        for each in assignments:
            (unknown if UNKNOWN in (each.start, each.end) else known).append(each)
        self._beginnings.find(unknown)
        if known:
            self._open(known)

    def _open(self, assignments: Sequence[Assignment], failures: int = 0) -> None:
        self._reactor.run(
            lambda: self._opener.open(assignments), partial(self._opened, assignments, failures),
            self._opener.thread,
        )  # fmt: skip

    def _opened(
        self,
        assignments: Sequence[Assignment],
        failures: int,
        future: Future[dict[TopicPartition, Standing | TowpathError]],
    ) -> None:
        error = future.exception()
        if error is not None and not isinstance(error, TowpathError):
            raise error
        if self._fetcher.ended:
            return
        if isinstance(error, ClusterError) and not self._lanes and not healable(error):
            raise error
        answers = {} if error is not None else future.result()
        later = []
        for assignment in assignments:
            answer = answers[assignment.source] if error is None else error
            self._unopened.pop(assignment.source, None)
            if isinstance(answer, Standing):
                self._begin(assignment, answer)
            elif hopeless(answer, failures, has_end=assignment.end is not None):
                self._closed_out[assignment.source] = answer.reason
            elif isinstance(answer, ClusterError):
                later.append(assignment)
                self._unopened[assignment.source] = answer.reason
            else:
                self._leave_out(assignment, answer.reason)
        if later and not self._ended:
            self._reactor.later(_RETRY_OPEN, lambda: self._open(later, failures + 1))

    def _begin(self, assignment: Assignment, standing: Standing) -> None:
        small = SMALL_TOGETHER if len(self._assigned) >= MANY else SMALL
        lane = Lane(assignment, standing, small)
        self._lanes[assignment.source] = lane
        self._start(lane, standing.front)

    def _start(self, lane: Lane, front: int | None) -> None:
        """Let a lane move that was opened, or opened again."""
        if front is None:
            self._join(lane)
        else:
            self._fronts.go(lane, front)

    def _join(self, lane: Lane) -> None:
        if lane.writer is None:
            self._producers.of(lane).add(lane)
        else:
            self._producers.of(lane).remove(lane)
        self._fetcher.add(lane)

    def _close_out(self, a: Assignment, error: TowpathError) -> None:
        self._closed_out[a.source] = error.reason

    def _leave_out(self, a: Assignment, why: Reason) -> None:
        self._closed_out[a.source] = why
        self._note(a, Loss(a.start, a.start, a.start, why), went_on=False)

    def _note(self, a: Assignment, lost: Loss, *, went_on: bool) -> None:
        """Write a gap to the ledger."""
        self._receipts.note(
            Gap(
                self._work.link, a.source.topic, a.source.partition, a.producer_id,
                lost.first, lost.end, lost.why, went_on, now_ms(),
            )
        )  # fmt: skip

    # Data

    def _go(self, lane: Lane) -> None:
        if lane.progress.stopped:
            self._fetcher.remove(lane)
            lane.queue.drop_waiting()
        elif not self._lease.good:
            return  # `_turn` goes on when it is
        elif lane.due_wait is not None:
            self._waits.go(lane)
        elif lane.writer is not None:
            self._transactor.go(lane)
        elif lane.queue.waiting:
            self._fills.go(lane, self._producers.of(lane).mark(lane))

    def _answer(self, lane: Lane, said: Produced) -> None:
        lane.unanswered -= 1
        if said.error or lane.refused is not None:
            lane.overtaken |= not said.error
            lane.refused = lane.refused or said
            self._target_side.answered(lane)
            return
        self._doubles.landed(lane, said.base_offset)

    def _acknowledged(self, lane: Lane) -> None:
        self._landed(lane)
        self._target_side.answered(lane)
        self._target_side.find_again(lane)

    def _landed(self, lane: Lane) -> None:
        lane.progress.relieve(Side.TARGET)
        lane.failures = 0
        self._fetcher.room(lane)
        self._go(lane)

    # What the sides tell each other; each is made after those who tell it something

    def _stop(self, lane: Lane, why: Reason) -> None:
        self._reopening.stop(lane, why)

    def _gap(self, lane: Lane, lost: Loss, went_on: bool) -> None:
        self._note(lane.work, lost, went_on=went_on)

    def _begin_later(self, lane: Lane, start: int) -> None:
        self._moved.go(lane, start)

    def _target_trouble(self, lane: Lane, error: ClusterError, hopeless: bool) -> None:
        self._target_side.unreachable(lane, error, hopeless)

    def _lost(self, lane: Lane, node: int) -> None:
        self._target_side.lost(lane, node)

    # Ending

    def _drain(self) -> None:
        """Let what is queued reach the target, then write what is left to write."""
        self._fetcher.end()
        # After a pause, other slices may have taken over what this one has in its queues.
        outdated = self._lease.lost or self._lease.pauses() > 0
        deadline = time.monotonic() + (0.0 if outdated else _DRAIN)
        while time.monotonic() < deadline and any(lane.drains for lane in self._lanes.values()):
            self._turn(0.05)
        while self._receipts.busy:  # as long as its client has patience
            self._turn(0.05)
        self._receipts.write_last()
