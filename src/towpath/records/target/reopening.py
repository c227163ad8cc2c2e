"""Lanes of which only the target knows where they stand: asked, and begun again from there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from towpath.cluster.data.reactor import Reactor
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError, TowpathError
from towpath.records.lane.jobs import Jobs
from towpath.records.lane.lane import Lane
from towpath.records.lane.progress import Standing
from towpath.records.source.fetcher import Fetcher
from towpath.records.target.opening import Opener, Openings
from towpath.records.target.producer import Producers
from towpath.records.target.tail import Underway
from towpath.records.trouble import (
    LOOKS,
    back_off,
    damage_text,
    hopeless,
    is_gone,
    passes,
)

GONE_AFTER = 3
"""Looks at a topic that is not there: it may just have been made."""


class Reopening:
    """Opens lanes again, many at once, or stops them where that cannot be."""

    def __init__(
        self,
        reactor: Reactor,
        jobs: Jobs,
        opener: Opener,
        fetcher: Fetcher,
        producers: Producers,
        start: Callable[[Lane, int | None], None],
    ) -> None:
        self._reactor, self._jobs, self._opener = reactor, jobs, opener
        self._fetcher, self._producers = fetcher, producers
        self._start = start
        self._due: dict[Lane, Callable[[], bool]] = {}
        """Lanes to be opened, and whether that still counts."""
        self._opening = False

    def reopen(self, lane: Lane) -> None:
        """Ask the target where the lane stands, and go on from there."""
        lane.openings += 1
        lane.failures += 1
        lane.busy = True
        self._fetcher.remove(lane)
        self._producers.of(lane).remove(lane)
        counts = self._jobs.counting(lane)
        self._reactor.later(back_off(lane.failures - 1), lambda: self._fell_due(lane, counts))

    def fetch_anew(self, lane: Lane, offset: int, why: str) -> None:
        """The batch at `offset` is damaged: open again behind all before it, and look once more."""
        error = damage_text(lane.work.source, offset, why)
        if lane.look(offset) < LOOKS:
            lane.progress.hinder(error)
            self._fetcher.doubt(lane)
            self.reopen(lane)
        else:
            self.stop(lane, error)

    def refused(self, lane: Lane, error: RefusedError) -> None:
        """The target refused our producer id: open the lane in another way from now on."""
        self._opener.refused(lane.work, error.name)

    def may_arrive(self, lane: Lane, node: int) -> None:
        """Batches of the lane were sent to broker `node`, and not all answers came."""
        read_from = Deadline.after(self._producers.of(lane).mute_left(node))
        sent = Underway(node, lane.sent_end, lane.sent_oldest, read_from)
        self._opener.may_arrive(lane.work, sent)

    def stop(self, lane: Lane, error: str) -> None:
        """Move the lane no more; its error stays in the ledger."""
        lane.stop(error)
        self._fetcher.remove(lane)
        self._producers.of(lane).remove(lane)

    def _fell_due(self, lane: Lane, counts: Callable[[], bool]) -> None:
        self._due[lane] = counts
        self._open()

    def _open(self) -> None:
        """Open all lanes that are due, unless some are being opened."""
        if self._opening:
            return
        due = {lane: counts for lane, counts in self._due.items() if counts()}
        self._due.clear()
        if not due:
            return
        self._opening = True
        works = [lane.work for lane in due]
        self._reactor.run(
            lambda: self._opener.open(works), lambda future: self._came(due, future),
            self._opener.thread,
        )  # fmt: skip

    def _came(self, due: dict[Lane, Callable[[], bool]], future: Future[Openings]) -> None:
        self._opening = False
        error = future.exception()
        if error is not None and not isinstance(error, TowpathError):
            self._jobs.fault(error)
            return
        answers: Openings = {} if error is not None else future.result()
        for lane in [lane for lane, counts in due.items() if counts()]:
            lane.busy = False
            answer = answers.get(lane.work.source, error)
            if isinstance(answer, Standing):
                lane.resume(answer)
                self._start(lane, answer.front)
            elif answer is not None:
                self._failed(lane, answer)
        self._open()

    def _failed(self, lane: Lane, error: TowpathError) -> None:
        if given_up(lane, error) or not (isinstance(error, ClusterError) and passes(error)):
            self.stop(lane, str(error))
        else:
            lane.progress.hinder(str(error))
            self.reopen(lane)


def unreachable(
    lane: Lane, error: ClusterError, stop: Callable[[Lane, str], None], *, hopeless: bool
) -> None:
    """A leader of the lane cannot be reached now; a run that is to end does not wait in vain."""
    if lane.progress.stopped:
        return
    if hopeless and lane.work.end is not None:
        stop(lane, str(error))
    else:
        lane.progress.hinder(str(error))


def given_up(lane: Lane, error: TowpathError) -> bool:
    """Count an error; whether the lane is left out for it.

    Its copy is gone, or it lacks a right for too long.
    """
    if isinstance(error, RefusedError) and is_gone(error):
        return lane.again(error.error) >= GONE_AFTER
    return hopeless(error, lane.failures, lane.work)
