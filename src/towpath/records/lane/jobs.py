"""What is put off for a lane, or done for it in the pool, while all others go on.

One rule holds for everything here: it is void once its lane was stopped or is opened again, as an
opening brings about whatever had been put off. So no timer and no late answer needs a look of its
own at what happened meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import TowpathError
from towpath.records.lane.lane import Lane

T = TypeVar("T")


class Jobs:
    """Timers and blocking calls of lanes; errors of ours go to `failed`, others are raised."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._closed = False

    def close(self) -> None:
        """What ends from now on is of no interest."""
        self._closed = True

    def later(self, lane: Lane, seconds: float, call: Callable[[], None]) -> None:
        """Call once, `seconds` from now."""
        counts = self.counting(lane)
        self._reactor.later(seconds, lambda: call() if counts() else None)

    def look(
        self,
        lane: Lane,
        work: Callable[[], T],
        found: Callable[[T], None],
        failed: Callable[[TowpathError], None],
    ) -> None:
        """Do blocking `work` beside all else that is done for the lane."""
        self._reactor.run(work, self._ending(lane, found, failed))

    def hold(
        self,
        lane: Lane,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[TowpathError], None],
    ) -> None:
        """Do blocking `work`; the lane is busy until it is done."""
        lane.busy, openings = True, lane.openings
        ending = self._ending(lane, done, failed)

        def over(future: Future[T]) -> None:
            if lane.openings == openings:  # else it is busy with being opened
                lane.busy = False
            ending(future)

        self._reactor.run(work, over)

    def together(
        self, lanes: Iterable[Lane], work: Callable[[], None], over: Callable[[list[Lane]], None]
    ) -> None:
        """Do blocking `work` for busy lanes; tell `over` of those for which it still counts."""
        if self._closed:
            return
        counting = {lane: self.counting(lane) for lane in lanes}

        def ending(future: Future[None]) -> None:
            error = future.exception()
            if error is not None:
                self.fault(error)
            counted = [lane for lane, counts in counting.items() if counts()]
            for lane in counted:
                lane.busy = False
            over(counted)

        self._reactor.run(work, ending)

    def fault(self, error: BaseException) -> None:
        """Raise an error that is not one of ours, unless nobody is interested any more."""
        if not self._closed:
            raise error

    def counting(self, lane: Lane) -> Callable[[], bool]:
        """Return what tells whether something that is put off now still counts."""
        openings = lane.openings
        return lambda: not (self._closed or lane.progress.stopped or lane.openings != openings)

    def _ending(
        self, lane: Lane, done: Callable[[T], None], failed: Callable[[TowpathError], None]
    ) -> Callable[[Future[T]], None]:
        counts = self.counting(lane)

        def ending(future: Future[T]) -> None:
            error = future.exception()
            if error is not None and not isinstance(error, TowpathError):
                self.fault(error)
            if not counts():
                return
            if isinstance(error, TowpathError):
                failed(error)
            else:
                done(future.result())

        return ending
