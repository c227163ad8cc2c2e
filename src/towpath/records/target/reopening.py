"""Lanes of which only the target knows where they stand: asked, and begun again from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError, TowpathError
from towpath.model.nouns import Side
from towpath.model.reasons import Reason
from towpath.records.jobs import Gathered, Jobs
from towpath.records.lane.lane import Lane
from towpath.records.lane.progress import Standing
from towpath.records.source.fetcher import Fetcher
from towpath.records.target.opening import Opener
from towpath.records.target.producer import Producers
from towpath.records.target.tail import Underway
from towpath.records.trouble import (
    LOOKS,
    back_off,
    damage,
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
        jobs: Jobs,
        opener: Opener,
        fetcher: Fetcher,
        producers: Producers,
        start: Callable[[Lane, int | None], None],
    ) -> None:
        self._jobs, self._opener = jobs, opener
        self._fetcher, self._producers = fetcher, producers
        self._start = start
        self._openings = Gathered(jobs, self._begin, self._opened, opener.thread)

    def reopen(self, lane: Lane) -> None:
        """Ask the target where the lane stands, and go on from there."""
        lane.openings += 1
        lane.failures += 1
        lane.busy = True
        self._fetcher.remove(lane)
        self._producers.of(lane).remove(lane)
        self._jobs.later(lane, back_off(lane.failures - 1), lambda: self._openings.add(lane))

    def fetch_anew(self, lane: Lane, offset: int, why: str) -> None:
        """The batch at `offset` is damaged: open again behind all before it, and look once more."""
        damaged = damage(lane.work.source, offset, why)
        if lane.look(offset) < LOOKS:
            lane.progress.hinder(Side.SOURCE, damaged)
            self._fetcher.doubt(lane)
            self.reopen(lane)
        else:
            self.stop(lane, damaged)

    def refused(self, lane: Lane, error: RefusedError) -> None:
        """The target refused our producer id: open the lane in another way from now on."""
        self._opener.refused(lane.work, error.name)

    def may_arrive(self, lane: Lane, node: int) -> None:
        """Batches of the lane were sent to broker `node`, and not all answers came."""
        read_from = Deadline.after(self._producers.of(lane).mute_left(node))
        sent = Underway(node, lane.sent_end, lane.sent_oldest, read_from)
        self._opener.may_arrive(lane.work, sent)

    def stop(self, lane: Lane, why: Reason) -> None:
        """Move the lane no more; the ledger tells why."""
        lane.stop(why)
        self._fetcher.remove(lane)
        self._producers.of(lane).remove(lane)

    def _begin(self, lanes: Sequence[Lane]) -> Callable[[], Mapping[Lane, Standing | TowpathError]]:
        works = {lane: lane.work for lane in lanes}

        def work() -> Mapping[Lane, Standing | TowpathError]:
            answers = self._opener.open(works.values())
            return {lane: answers[w.source] for lane, w in works.items() if w.source in answers}

        return work

    def _opened(self, lane: Lane, answer: Standing | TowpathError) -> None:
        if isinstance(answer, Standing):
            lane.resume(answer)
            self._start(lane, answer.front)
        else:
            self._failed(lane, answer)

    def _failed(self, lane: Lane, error: TowpathError) -> None:
        if given_up(lane, error) or not (isinstance(error, ClusterError) and passes(error)):
            self.stop(lane, error.reason)
        else:
            lane.progress.hinder(Side.TARGET, error.reason)
            self.reopen(lane)


def unreachable(
    lane: Lane,
    side: Side,
    error: ClusterError,
    stop: Callable[[Lane, Reason], None],
    *,
    hopeless: bool,
) -> None:
    """A leader of the lane cannot be reached now; a run that is to end does not wait in vain."""
    if lane.progress.stopped:
        return
    if hopeless and lane.work.end is not None:
        stop(lane, error.reason)
    else:
        lane.progress.hinder(side, error.reason)


def given_up(lane: Lane, error: TowpathError) -> bool:
    """Count an error; whether the lane is left out for it.

    Its copy is gone, or it lacks a right for too long.
    """
    if isinstance(error, RefusedError) and is_gone(error):
        return lane.again(error.error) >= GONE_AFTER
    return hopeless(error, lane.failures, lane.work)
