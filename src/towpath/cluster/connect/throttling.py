"""Waits that brokers ask for because of quotas (KIP-219): how long they are, and who is told."""

from __future__ import annotations

import threading

from towpath.model.errors import UnreachableError
from towpath.runtime import log
from towpath.runtime.notices import notice

TOLD = 5.0
"""Seconds of waiting that are told first, then at twice as many, and so on. Shorter waits are how
quotas normally work."""
_ADVICE = (
    "raise the quotas of our user and client id there (consumer_byte_rate, producer_byte_rate,"
    " request_percentage)"
)


class ThrottledError(UnreachableError):
    """Brokers ask for a longer wait, because of quotas, than the caller has time for."""

    code = "CLUSTER_THROTTLED"


def throttled(side: str, what: str, seconds: float) -> ThrottledError:
    """Return the error for a request that brokers made wait for so many seconds."""
    why = f"brokers asked to wait for {seconds:.0f} s, as a quota of our login is used up"
    return ThrottledError(side, what, why, _ADVICE)


class Throttling:
    """Adds up for how long the brokers of one cluster asked to wait; thread-safe.

    Args:
        side: `source` or `target`.
    """

    def __init__(self, side: str) -> None:
        self._side = side
        self._lock = threading.Lock()
        self._seconds, self._next = 0.0, TOLD

    def waits(self, seconds: float) -> None:
        """Note that a broker asked to wait, and tell people where it becomes long."""
        with self._lock:
            self._seconds += seconds
            total = self._seconds
            if total < self._next:
                return
            while self._next <= total:
                self._next *= 2
        log.event("cluster.throttles", "", self._side, {"seconds": round(total)}, trouble=True)
        notice(
            f"{self._side}: brokers asked to wait for {total:.0f} s so far, as a quota of our login"
            f" is used up; {_ADVICE}"
        )
