"""The moment from which on clients may leave the gateway. Blocking.

A client that knows a broker of the target asks it for everything from then on: for mirror topics
that clients must not write yet, too, and never again for topics of the source. So nobody leaves
before all topics of the link are promoted, and the ledger says so before: clients that left cannot
be taken back to the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.runtime import log

_IDLE = 30.0
"""Seconds without a client after which the last one has gone; librdkafka waits up to ten seconds
before it connects anew."""


class LeavingGate:
    """Lets clients leave once all topics of the link are promoted, if the file says so.

    Args:
        at: What to work with.
        now: Tells the time, in seconds.
    """

    def __init__(self, at: PromotionResources, now: Callable[[], float] = time.monotonic) -> None:
        self._at, self._now = at, now
        self._idle: float | None = None
        self._is_open = self._is_unneeded = False

    def look(self) -> None:
        """Open or close the way for clients, as topics are promoted now.

        Raises:
            TowpathError: The ledger cannot be read or written.
        """
        at = self._at
        section = at.link.config.gateway
        if section is None or section.after != "leave":
            return
        at.link.read()
        is_open = at.call(at.is_whole) and not at.call(lambda: at.gateway.routes.held)
        if is_open and not at.book.left:
            at.book.note_left()
        if is_open is not self._is_open:
            self._is_open = is_open
            log.event("clients.may_leave", at.link.name, "", {"open": is_open}, trouble=True)

        def set_open() -> None:
            at.gateway.leaving.is_open = is_open

        at.call(set_open)
        self._say_unneeded()

    def _say_unneeded(self) -> None:
        """Log when the last client has gone, and none came for a while."""
        counts = self._at.call(self._at.gateway.leaving.counts)
        is_idle = self._is_open and not (counts.staying or counts.leaving)
        if not is_idle:
            self._idle = None
        elif self._idle is None:
            self._idle = self._now()
        is_unneeded = self._idle is not None and self._now() - self._idle >= _IDLE
        if is_unneeded and not self._is_unneeded:
            facts = {"left": counts.left}
            log.event("gateway.unneeded", self._at.link.name, "", facts, trouble=True)
        self._is_unneeded = is_unneeded
