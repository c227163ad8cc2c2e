"""Whether all that was sent to brokers before a moment has been done by them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from towpath.gateway.legs import BrokerConnection

DOUBT = 10.0
"""Seconds for which a broker may still write what it got on a connection that ended."""


class Drains:
    """The connections to brokers that may still write.

    Args:
        now: Tells the time, in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._legs = set[BrokerConnection]()
        self._doubt = -DOUBT

    def began(self, leg: BrokerConnection) -> None:
        """Take in a connection."""
        self._legs.add(leg)

    def ended(self, leg: BrokerConnection) -> None:
        """Take in the end of one, with requests that were not answered or without."""
        if leg.in_doubt:
            self._doubt = self._now()
        self._legs.discard(leg)

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._legs)

    @property
    def doubtful(self) -> float:
        """Seconds for which nobody knows what brokers still write, 0 if everything is known."""
        return max(0.0, self._doubt + DOUBT - self._now())

    def marks(self) -> dict[BrokerConnection, int]:
        """Return how much each connection has sent until now."""
        return {leg: leg.sent for leg in self._legs if leg.sent > leg.done}

    def drained(self, marks: Mapping[BrokerConnection, int]) -> bool:
        """Whether all that was sent until then is answered, and nothing is in doubt."""
        left = any(leg.done < mark for leg, mark in marks.items() if leg in self._legs)
        return not left and self.doubtful == 0
