"""Until when a gateway may send requests to brokers while a promotion goes on.

While gateways promote together, each tells of itself in the ledger every second. One that cannot
holds all its clients by itself, until it has read what became of the promotion; so who leads it
need not wait for it for ever. A gateway that was frozen looks at its clock before it sends on what
comes. Outside of a promotion nothing of this counts: clients do not wait for a target that is away.

Pure.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEASE = 5.0
"""Seconds after its last sign of life for which a gateway sends requests."""
BEAT = 1.0
"""Seconds between two signs of life."""
DOUBT = 10.0
"""Seconds for which a broker may still write what it got on a connection that ended."""
MARGIN = 2.0
"""Seconds by which clocks may run apart meanwhile."""


def elapsed() -> float:
    """Return a time in seconds that goes on while the machine sleeps, where there is such a one."""
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if number is None else time.clock_gettime(number)


class GatewayLease:
    """The lease of one gateway, by what it read in the ledger, and wrote.

    One thread changes it, and the loop of the connections looks at it.

    Args:
        now: Tells the time, in seconds.

    Attributes:
        attempt: The promotion that goes on, "" for none.
    """

    def __init__(self, now: Callable[[], float] = elapsed) -> None:
        self._now = now
        self._until: float | None = None
        self._is_lapsed = False
        self._latest = ""
        self.attempt = ""

    @property
    def is_joined(self) -> bool:
        """Whether it counts: who leads may rely on it."""
        return self._until is not None

    @property
    def is_lapsed(self) -> bool:
        """Whether nothing may be sent to brokers."""
        until = self._until
        return until is not None and (self._is_lapsed or self._now() > until)

    def joins(self, attempt: str) -> None:
        """Note that a promotion began, before that is answered."""
        self.attempt = self._latest = attempt
        if self._until is None:
            self._until = self._now() + LEASE

    def renewed(self, sent: float) -> None:
        """Note that the ledger took a sign of life.

        One that was sent too late changes nothing: others may have gone on without this gateway.

        Args:
            sent: When it was begun to be written.
        """
        if self._until is None:
            return
        if self._is_lapsed or sent > self._until:
            self._is_lapsed = True
        else:
            self._until = sent + LEASE

    def ended(self, attempt: str) -> None:
        """Note that the ledger tells what became of a promotion."""
        if attempt == self.attempt:
            self.attempt = ""

    def left(self, attempt: str) -> None:
        """Note that the ledger has the word of this gateway that it takes part no more.

        A promotion that began before that counts on the lease. So does who read a word for a later
        promotion, also if that is over: only the word on the last one ends it.
        """
        if not self.attempt and attempt == self._latest:
            self._until, self._is_lapsed = None, False


def is_held(*, joined: bool, silent: float, gone: float | None) -> bool:
    """Return whether brokers get nothing more of a gateway that does not answer.

    Args:
        joined: Whether its last word was that it takes part.
        silent: Seconds since that was heard.
        gone: Seconds since its process was seen to have ended, `None` if it was not.
    """
    if gone is not None:
        return gone >= DOUBT
    return joined and silent >= LEASE + MARGIN + DOUBT
