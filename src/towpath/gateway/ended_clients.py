"""Why connections of clients are ended, told each time or, where many end alike, once in a while.

A broker that is away ends the connections of all clients, and each of them comes back within a
second: a line for each would fill the log. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

_FEW = 10
"""Connections that end for one reason until the first `PAUSE`; each has a line."""
PAUSE = 10.0
"""Seconds for which further ones are only counted."""


class EndedClients:
    """Decides which ends of connections are told, and how many a line stands for.

    Args:
        told: Called with a reason, and how many connections it ended since it was told last.
        clock: Tells the time in seconds.
    """

    def __init__(self, told: Callable[[str, int], None], clock: Callable[[], float]) -> None:
        self._told, self._clock = told, clock
        self._since = clock()
        self._lately, self._untold = Counter[str](), Counter[str]()

    def ended(self, why: str) -> None:
        """Note that a connection was ended."""
        self._lately[why] += 1
        if self._lately[why] <= _FEW:
            self._told(why, 1)
        else:
            self._untold[why] += 1

    def sweep(self) -> None:
        """Tell what was only counted, if it is time to; called every second."""
        if self._clock() - self._since >= PAUSE:
            self.close()

    def close(self) -> None:
        """Tell what was only counted."""
        for why, count in self._untold.items():
            self._told(why, count)
        # What still goes on has no lines of its own before it has stopped for a while.
        self._lately = Counter(dict.fromkeys(self._untold, _FEW))
        self._untold.clear()
        self._since = self._clock()
