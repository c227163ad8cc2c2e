"""Work whose cost grows with a cluster, done only as often as a small share of a thread allows."""

from __future__ import annotations

import time
from collections.abc import Callable


class Sparing:
    """Does work again and again, and rests after each time in proportion to what it took.

    Args:
        share: Most of a thread's time that the work may take, above 0 and at most 1.
        spent: Returns the CPU seconds of the thread so far. A busy machine makes no pause longer.
        clock: Returns seconds.
    """

    def __init__(
        self,
        share: float,
        spent: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._share, self._spent, self._clock = share, spent, clock
        self._next = float("-inf")

    def attempt(self, work: Callable[[], None]) -> None:
        """Do the work unless it rests."""
        if self._clock() < self._next:
            return
        before = self._spent()
        work()
        self._next = self._clock() + (self._spent() - before) * (1 / self._share - 1)
