"""When a gateway promotes its topics without being asked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from towpath.model.reasons import Reason, ReasonCode

SETTLED = 60.0
"""Seconds for which nothing may forbid it: members that come and go are no reason to hurry."""
_LOOK = 15.0
"""Seconds between two looks at the clusters."""
_BACK_OFF, _LONGEST = 60.0, 900.0
"""Seconds to wait after an attempt that was undone; each time twice as long, up to this."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What a look at both clusters told.

    Attributes:
        reasons: Why the topics cannot be promoted now.
        has_clients: Whether any client came through the gateway.
    """

    reasons: Collection[Reason]
    has_clients: bool


class AutomaticPromotion:
    """Decides when to promote all topics of a link.

    Args:
        wanted: `hand`, `auto`, or a time in ms since 1970.
        look: Looks at both clusters.
        told: Called with the reasons that forbid it, once each time that they change.
        clock: Tells the time in seconds, for waiting.
        now: Tells the time in ms since 1970.
    """

    def __init__(
        self,
        wanted: str | int,
        look: Callable[[], Readiness],
        told: Callable[[Collection[Reason]], None],
        clock: Callable[[], float],
        now: Callable[[], int],
    ) -> None:
        self._wanted, self._look, self._told = wanted, look, told
        self._clock, self._now = clock, now
        self._next = clock()
        self._ready_since: float | None = None
        self._pause = _BACK_OFF
        self._said = frozenset[str]()

    def due(self) -> bool:
        """Return whether to promote now.

        Raises:
            TowpathError: A cluster does not answer.
        """
        clock = self._clock()
        if self._wanted == "hand" or clock < self._next:
            return False
        if isinstance(self._wanted, int) and self._now() < self._wanted:
            return False
        self._next = clock + _LOOK
        found = self._look()
        if any(each.code is ReasonCode.PROMOTE_NOTHING for each in found.reasons):
            self._next = clock + SETTLED
            return False
        self._tell(found.reasons)
        if found.reasons or (self._wanted == "auto" and not found.has_clients):
            self._ready_since = None
            return False
        if self._ready_since is None:
            self._ready_since = clock
        return self._wanted != "auto" or clock - self._ready_since >= SETTLED

    def undone(self) -> None:
        """Note that an attempt was undone, so that the next one comes later."""
        self._next = self._clock() + self._pause
        self._pause = min(2 * self._pause, _LONGEST)
        self._ready_since = None

    def _tell(self, reasons: Collection[Reason]) -> None:
        codes = frozenset(code for each in reasons for code in each.codes)
        if codes != self._said:
            self._said = codes
            self._told(reasons)
