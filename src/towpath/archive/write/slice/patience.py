"""The clock by which a slice loses patience with a range: it counts waiting, not working."""

from __future__ import annotations

import time
from collections.abc import Callable

_MOST = 0.2
"""Seconds that one turn counts at most: twice the longest that it waits for answers."""


class WaitingClock:
    """Counts the seconds for which a slice waited for answers.

    The slice's own work (decoding, writing) does not count, and neither does time in which a busy
    machine gave it no turn: an answer may be there meanwhile.

    Args:
        clock: Returns seconds.

    Attributes:
        seconds: The seconds so far.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.seconds = 0.0

    def turn(self, work: Callable[[], None]) -> None:
        """Take a turn that waits for answers, and count it."""
        began = self._clock()
        work()
        self.seconds += min(_MOST, self._clock() - began)
