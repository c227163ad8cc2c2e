"""What a slice hears from its driver: through the ledger, so only the target must be reached."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto

from towpath.ledger.entries import Session
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.errors import TowpathError
from towpath.model.nouns import LinkName
from towpath.records.lease import Lease

ORPHANED = 30.0
"""Seconds without a sign of life after which a slice takes its driver for dead."""
_WAIT = 1.0


class End(Enum):
    """Why a slice ends."""

    ROUND = auto()
    """The round is over: what is queued is still sent."""
    REPLACED = auto()
    """Another run of the link began."""
    ORPHANED = auto()
    """The driver gives no sign of life."""


class Watch(threading.Thread):
    """Reads sessions until the round is over, the driver gone, or another run began.

    The `lease` hears of each look that found no other run.
    """

    def __init__(
        self,
        ledger: Ledger,
        link: LinkName,
        run_id: str,
        number: int,
        lease: Lease,
        on_end: Callable[[End], None],
    ) -> None:
        super().__init__(name="towpath-watch", daemon=True)
        self._ledger, self._link, self._run_id, self._number = ledger, link, run_id, number
        self._lease, self._on_end = lease, on_end
        self._ours: Session | None = None
        """The last sign of life of our run."""
        self._others: Counter[str] = Counter()
        """Signs of other runs since then."""
        self._finished = threading.Event()

    def run(self) -> None:
        """Read until there is a reason to end, and tell it once.

        A slice that drains at the end of its round must still hear that it may write.
        """
        heard, told = time.monotonic(), None
        while not self._finished.is_set():
            asked = self._lease.ask()
            try:
                entries = self._ledger.read(SESSIONS, wait=_WAIT)
            except TowpathError:
                self._finished.wait(_WAIT)
                continue
            sessions = [e for e in entries if isinstance(e, Session) and self._concerns(e)]
            if sessions:
                heard = time.monotonic()
            end = self._reason(sessions, time.monotonic() - heard)
            if end not in {None, End.ROUND}:
                self._lease.lose()
            if end is not None and end is not told:
                told = end
                self._on_end(end)
            if self._lease.lost:
                return
            self._lease.heard(asked)

    def finish(self) -> None:
        """Stop reading; close the ledger's client to end a wait at once."""
        self._finished.set()

    def _concerns(self, session: Session) -> bool:
        """Whether it is of our run, or of another that goes on."""
        ours = session.run_id == self._run_id
        return session.link == self._link and (ours or not session.over)

    def _reason(self, sessions: list[Session], silence: float) -> End | None:
        own = [n for n, session in enumerate(sessions) if session.run_id == self._run_id]
        if own:  # what lies before is of runs that ended, or gave way
            self._ours = sessions[own[-1]]
            self._others.clear()
        for other in sessions[own[-1] + 1 if own else 0 :]:
            self._others[other.run_id] += 1
            if self._replaces(other):
                return End.REPLACED
        last = self._ours
        if last is not None and (last.over or last.ended_round >= self._number):
            return End.ROUND
        return End.ORPHANED if silence > ORPHANED else None

    def _replaces(self, other: Session) -> bool:
        """Whether another run is the one that goes on.

        A run that was frozen gives one more sign before it hears of the run that took over; it is
        older, and is heard once.
        """
        ours = self._ours
        if ours is None or self._others[other.run_id] > 1:
            return True
        return (other.started, other.run_id) > (ours.started, ours.run_id)
