"""The lease of a link, which lets one process change the target (docs/decisions/0027).

It guards steps and their journal. Records do not depend on it: two copiers may race.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from typing import Self

from towpath.cluster.data.client import Client
from towpath.ledger.alive import ProcessKey, birth, is_gone, process_of, this_host, this_space
from towpath.ledger.entries import MIRROR, LeaseHolder, LinkLease, Session, Unreadable
from towpath.ledger.events import What
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.link import OpenTarget
from towpath.model.errors import LinkHeldError, TowpathError
from towpath.model.nouns import LinkName, Side
from towpath.runtime.clock import Moment, now_ms

_BEAT = 2.0
_SILENCE = 7.0
"""Seconds without a sign of life after which a holder counts as dead."""
_GOODBYE = 5.0
"""Seconds for which the end of a command waits until the lease is given back. A lease that is not
given back is taken over like that of a dead holder."""
_FRESH = 5.0
"""Seconds for which a look at the ledger that found no other holder stays valid. Less than
`_SILENCE`, so a process that was paused looks again before it changes anything."""


class Lease:
    """The lease of a link, held by this process while it changes the target.

    Args:
        link: The link; its ledger exists.
        command: The Towpath command that asks for the lease.
        work: The kind of work; each kind has its own lease.
        dead: The process of a run that is known to be dead.

    Attributes:
        replaced: The dead process that the lease was taken over from, if there was one.
    """

    def __init__(
        self,
        link: OpenTarget,
        command: str,
        work: str = MIRROR,
        dead: ProcessKey | None = None,
    ) -> None:
        self._link, self._command, self._work, self._dead = link, command, work, dead
        self._owner = uuid.uuid4().hex
        self._client = Client(link.where, Side.TARGET, link.target)
        self._ledger = Ledger(link.target, self._client)
        self._lock = threading.RLock()
        self._since = 0
        self._looked: Moment | None = None
        self._other: LinkLease | None = None
        """The other process that holds the lease, if one is known."""
        self._heard: Counter[str] = Counter()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="towpath-lease", daemon=True)
        self.replaced: LeaseHolder | None = None

    def __enter__(self) -> Self:
        """Get the lease, and write signs of life from then on.

        Raises:
            LinkHeldError: Another process holds it.
        """
        try:
            self._acquire()
        except TowpathError:
            self._client.close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lease back; a target that does not answer delays this by seconds at most."""
        self._stopped.set()
        self._thread.join(_GOODBYE)
        self._client.close()

    def require(self) -> None:
        """Raise if another process holds the lease; take it again if it is free.

        Raises:
            LinkHeldError: Another process holds it.
            ClusterError: The ledger cannot be asked.
        """
        with self._lock:
            if self._other is None and self._looked is not None and self._looked.age < _FRESH:
                return
            self._look()
            other = self._other
            if other is None:
                return
            if other.may_live and not is_gone(other):
                raise self._held(other)
            self._other = None
            self._acquire()

    @property
    def takeover(self) -> str:
        """A sentence about the takeover of the lease, "" if there was none."""
        return taken_over(self.replaced) if self.replaced is not None else ""

    def _acquire(self) -> None:
        with self._lock:
            dead = self._wait_for_silence()
            self.replaced = dead.holder if dead is not None else self.replaced
            self._since, self._looked = now_ms(), Moment.now()
            self._tell()
            self._refuse_later()
        if dead is not None:
            where = dead.holder.where
            self._link.events.tell(What.LEASE_TAKEN_OVER, command=dead.command, where=where)

    def _wait_for_silence(self) -> LinkLease | None:
        """Wait until no other holder gives signs of life; return a dead holder, if any.

        Raises:
            LinkHeldError: Another holder gave a further sign of life.
        """
        signs = self._signs()
        last = signs[-1] if signs else None
        if last is None or last.over:
            return None
        if not last.may_live or is_gone(last) or process_of(last) == self._dead:
            return last
        deadline = time.monotonic() + _SILENCE
        while time.monotonic() < deadline:
            for sign in self._signs(wait=1.0):
                if not sign.over:
                    raise self._held(sign)
                return None
        return last

    def _refuse_later(self) -> None:
        """Refuse the lease if another process that asks at the same time wrote its sign first."""
        for sign in self._signs():
            if sign.owner == self._owner:
                return
            if not sign.over:
                raise self._held(sign)

    def _look(self) -> None:
        """Find out whether a younger holder lives; a refused process writes no second sign."""
        now = Moment.now()
        for sign in self._signs():
            if sign.owner == self._owner:
                continue
            self._heard[sign.owner] += 1
            younger = (sign.since, sign.owner) > (self._since, self._owner)
            known = self._other is not None and sign.owner == self._other.owner
            if known or (younger and not sign.over and self._heard[sign.owner] > 1):
                self._other = sign
        self._looked = now

    def _signs(self, wait: float = 0.0) -> list[LinkLease]:
        mine = self._link.name
        entries = [e for e in self._ledger.read(SESSIONS, wait=wait) if e.link == mine]
        for entry in entries:
            if isinstance(entry, Unreadable):
                raise entry.error
        return [e for e in entries if isinstance(e, LinkLease) and e.work == self._work]

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT):
            with self._lock, suppress(TowpathError):
                self._look()  # first: after a pause another process may have taken over
                if self._other is None:
                    self._tell()
        with self._lock, suppress(TowpathError):
            if self._other is None:
                self._tell(over=True)

    def _tell(self, *, over: bool = False) -> None:
        entry = LinkLease(
            link=self._link.name,
            owner=self._owner,
            command=self._command,
            host=this_host(),
            pid=os.getpid(),
            since=self._since,
            beat=now_ms(),
            over=over,
            work=self._work,
            replaced=self.replaced,
            missing_events=self._link.events.missing,
            space=this_space(),
            born=birth(),
        )
        self._ledger.append([entry], SESSIONS)

    def _held(self, other: LinkLease) -> LinkHeldError:
        return LinkHeldError(self._link.name, other.command, other.holder.where)


def require_free(link: OpenTarget) -> None:
    """Raise if another process holds the lease of a link.

    Raises:
        LinkHeldError: A process that lives holds it.
        ClusterError: The ledger cannot be asked.
    """
    lease = last_lease(link.ledger, link.name)
    if lease is not None and lease.may_live and not is_gone(lease):
        raise LinkHeldError(link.name, lease.command, lease.holder.where)


def last_lease(ledger: Ledger, link: LinkName) -> LinkLease | None:
    """Return the last heartbeat of the process that held the lease of a link.

    Raises:
        ClusterError: The ledger cannot be asked.
    """
    return last_signs(ledger, link)[1]


def last_signs(
    ledger: Ledger, link: LinkName, work: str = MIRROR
) -> tuple[Session | None, LinkLease | None]:
    """Return the last heartbeats of a link's run and of its lease holder.

    Both are of one kind of work, and were added since the last call of this ledger.

    Raises:
        ClusterError: The ledger cannot be asked.
    """
    kinds = {Session.kind, LinkLease.kind}
    found = ledger.read(SESSIONS, wanted=lambda key: key.kind in kinds and key.link == link)
    runs = [each for each in found if isinstance(each, Session) and each.work == work]
    leases = [each for each in found if isinstance(each, LinkLease) and each.work == work]
    return runs[-1] if runs else None, leases[-1] if leases else None


def taken_over(dead: LeaseHolder) -> str:
    """Return a sentence about the takeover of a dead process's lease."""
    return f"the lease was taken over from {dead}, which ended without giving it back"


def lease_lines(lease: LinkLease | None) -> list[str]:
    """Return lines about the lease holder, its predecessor, and its missing events."""
    if lease is None:
        return []
    lives = lease.may_live and not is_gone(lease)
    lines = [f"lease: held by {lease.holder}"] if lives else []
    if not lease.over and not lives:
        lines.append(
            f"lease: {lease.holder} ended without giving it back; the next command takes it over"
        )
    if lease.replaced is not None:
        lines.append(
            f"lease: {lease.holder} took it over from {lease.replaced}, which ended"
            " without giving it back"
        )
    if lease.missing_events is not None:
        lines.append(f"events: of {lease.holder} {lease.missing_events}")
    return lines
