"""Completion of all requests that were sent to brokers before a given moment. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.gateway_lease import DOUBT
from towpath.model.amounts import counted


class WriteDrains:
    """The connections to brokers with requests that may still write.

    Args:
        now: Tells the time, in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._legs = set[BrokerConnection]()
        self._doubt = -DOUBT

    def began(self, leg: BrokerConnection) -> None:
        """Add a connection to a broker."""
        self._legs.add(leg)

    def ended(self, leg: BrokerConnection) -> None:
        """Remove a closed connection, with or without unanswered requests."""
        if leg.in_doubt:
            self._doubt = self._now()
        self._legs.discard(leg)

    @property
    def connections(self) -> int:
        """Number of open connections to brokers."""
        return len(self._legs)

    @property
    def doubtful(self) -> float:
        """Seconds for which lost requests may still be written by brokers; 0 for none."""
        return max(0.0, self._doubt + DOUBT - self._now())

    def marks(self) -> dict[BrokerConnection, int]:
        """Return the number of requests sent so far on each connection."""
        return {leg: leg.sent for leg in self._legs if leg.sent > leg.done}

    def slowest(self, marks: Mapping[BrokerConnection, int]) -> str:
        """Return who waits for most answers to requests up to these marks, "" for nobody."""
        left = {leg: mark - leg.done for leg, mark in marks.items() if leg in self._legs}
        leg = max(left, key=left.__getitem__, default=None)
        if leg is None or left[leg] <= 0:
            return ""
        (host, client), number = leg.client, left[leg]
        more = sum(each > 0 for each in left.values()) - 1
        others = f", and {counted(more, 'other connection')}" if more else ""
        return f"{counted(number, 'request')} of client id {client!r} on {host or '?'}{others}"

    def drained(self, marks: Mapping[BrokerConnection, int]) -> bool:
        """Whether all requests up to these marks are answered, and none is in doubt."""
        left = any(leg.done < mark for leg, mark in marks.items() if leg in self._legs)
        return not left and self.doubtful == 0
