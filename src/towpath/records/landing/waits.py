"""Lanes that wait for an external condition at the head of their queue.

For example, a schema must be registered before the records that refer to it are sent. Whether it
is, is asked repeatedly, apart from all other work: only later items of the same queue wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import Side
from towpath.model.reasons import Reason
from towpath.records.items import Wait
from towpath.records.jobs import Jobs
from towpath.records.lane.lane import Lane
from towpath.records.trouble import AGAIN, passes

_THREADS = 4
"""Concurrent questions. They have their own threads, so that a slow one delays no connection."""
_MOST = 10
"""Questions after which a run with an end gives up; with the back-off between them, about 40 s."""


_UNTOLD = 3.0
"""Seconds of a wait that nobody needs to hear of: a run that has just begun reads its ledger."""


class Waits:
    """Checks the conditions that lanes wait for, and resumes the lanes."""

    def __init__(
        self, jobs: Jobs, *, go: Callable[[Lane], None], stop: Callable[[Lane, Reason], None]
    ) -> None:
        self._jobs, self._go, self._stop = jobs, go, stop
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="towpath-waits")
        self._pausing: dict[Lane, Wait] = {}
        """What is asked again after a pause."""

    def close(self) -> None:
        """Stop checking; running checks end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def go(self, lane: Lane) -> None:
        """Start checking if a new wait is at the head of the lane's queue."""
        wait = lane.queue.due_wait
        if wait is not None and not wait.asked:
            self._ask(lane, wait)

    def ask_again(self) -> None:
        """Check all waits now instead of after a pause."""
        for lane, wait in [*self._pausing.items()]:
            self._again(lane, wait)

    def _again(self, lane: Lane, wait: Wait) -> None:
        if self._pausing.get(lane) is wait:
            del self._pausing[lane]
            if lane.queue.due_wait is wait and not lane.stopped:
                self._ask(lane, wait)

    def _ask(self, lane: Lane, wait: Wait) -> None:
        wait.since = wait.since or time.monotonic()
        wait.asked += 1
        self._jobs.look(
            lane,
            wait.ready,
            lambda ready: self._over(lane, wait) if ready else self._not_yet(lane, wait, wait.why),
            lambda error: self._failed(lane, wait, error),
            self._threads,
        )

    def _over(self, lane: Lane, wait: Wait) -> None:
        lane.queue.waited(wait)
        lane.relieve(Side.TARGET)
        self._go(lane)

    def _not_yet(self, lane: Lane, wait: Wait, why: Reason) -> None:
        if lane.has_end and not wait.bounded and wait.asked >= _MOST:
            self._stop(lane, why)
            return
        if why is not wait.why or time.monotonic() - wait.since >= _UNTOLD:
            lane.hinder(Side.TARGET, why)
        self._pausing[lane] = wait
        self._jobs.later(lane, AGAIN.after(wait.asked), lambda: self._again(lane, wait))

    def _failed(self, lane: Lane, wait: Wait, error: TowpathError) -> None:
        if isinstance(error, ClusterError) and passes(error):
            self._not_yet(lane, wait, error.reason)
        else:
            self._stop(lane, error.reason)
