"""Troubles that go on, which are told once in a while instead of at each look. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from towpath.model.reasons import Reason, ReasonCode

REPEAT = 300.0
"""Seconds after which a trouble is told again that goes on."""


class LastingTroubles:
    """Tells which troubles are new.

    Args:
        clock: Tells the time, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    def new(self, troubles: Iterable[Reason]) -> Iterator[Reason]:
        """Yield the troubles that were not told lately.

        Faults of ours count as one, as each may name another place.
        """
        for why in troubles:
            now = self._clock()
            self._said = {what: at for what, at in self._said.items() if now - at < REPEAT}
            what = why.codes[0] if why.code is ReasonCode.ERROR else str(why)
            if what not in self._said:
                self._said[what] = now
                yield why
