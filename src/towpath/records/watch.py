"""Messages from the driver to a slice, sent through the ledger on the target.

It also learns of later attempts of Spark at the same slice. If Spark has lost contact to a task
that still runs, both attempts would otherwise consider themselves the one that may write.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import partial
from typing import Protocol

from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import (
    MIRROR,
    WHOLE_LINK,
    Attempt,
    Dealt,
    LinkState,
    ReadEntry,
    Released,
    Session,
    Share,
)
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import ENDS, SESSIONS, Ledger
from towpath.model.errors import TowpathError, UnreachableError
from towpath.model.nouns import Side
from towpath.records.permit import WritePermit
from towpath.records.work import Slice
from towpath.runtime.deadline import Deadline

ORPHANED = 30.0
"""Seconds without a session entry after which a slice considers its driver dead."""
_WAIT = 1.0


class SliceEnd(Enum):
    """The reasons for the end of a slice."""

    ROUND = auto()
    """The round is over. Queued batches are still sent."""
    RUN = auto()
    """The run is over too."""
    REPLACED = auto()
    """Another run of the link has begun."""
    REPEATED = auto()
    """Spark has begun the slice again."""
    SEALED = auto()
    """A failover of the link has begun."""
    ORPHANED = auto()
    """The driver has written no session entry for too long."""
    BOOKLESS = auto()
    """The ledger was deleted, or another cluster has taken the place of the target."""


_DRAINS = {SliceEnd.ROUND, SliceEnd.RUN}
"""Ends that leave time to send what is queued."""


class Before(Protocol):
    """Protocol of a listener for slices of the previous round."""

    def released(self, entry: Released) -> None:
        """Handle the release of partitions by a slice of the previous round."""

    def left(self) -> None:
        """Handle the end of the previous round, of which no slice runs any more."""


class SessionWatch(threading.Thread):
    """Reads session entries until the round is over, the driver is gone, or another run took over.

    Args:
        ledger: Read by this thread alone.
        work: The slice.
        permit: Renewed by each read that found no other run.
        on_end: Gets each reason to end, once.
        reactor: `on_dealt` and `before` are called in its thread.
        on_dealt: Gets the partitions that are added to the slice.
        before: Hears of the slices of the round before.
        on_share: Gets each share of the limits that is given to the slice.
        on_news: Called when the driver says that the source has more; in the reactor's thread.
    """

    def __init__(
        self,
        ledger: Ledger,
        work: Slice,
        permit: WritePermit,
        on_end: Callable[[SliceEnd], None],
        reactor: Reactor,
        on_dealt: Callable[[Dealt], None],
        before: Before,
        on_share: Callable[[Share], None] = lambda _: None,
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="towpath-watch", daemon=True)
        self._ledger, self._work, self._permit = ledger, work, permit
        self._on_end, self._reactor, self._on_dealt = on_end, reactor, on_dealt
        self._round_before, self._on_share, self._on_news = before, on_share, on_news
        self._news = 0
        self._ours: Session | None = None
        """The last session entry of our run."""
        self._others: Counter[str] = Counter()
        """Number of session entries of other runs since then."""
        self._name = new_name()
        self._unheard: list[ReadEntry] = []
        """Entries that were read while this attempt was announced."""
        self._attempts: dict[str, None] = {}
        """The attempts at the slice, in the order of their beginning."""
        self._finished = threading.Event()

    def announce(self) -> bool:
        """Announce this attempt at the slice; call this before the thread starts.

        Returns:
            Whether another attempt at the slice was announced earlier, so that its batches may
            still arrive. Spark's own count starts again when a whole stage is tried again.

        Raises:
            ClusterError: The target could not be reached.
        """
        self._unheard += self._ledger.read(SESSIONS)
        self._ledger.append([self.attempt()], SESSIONS)
        limit = Deadline.after(self._work.target.request_timeout)
        while self._name not in self._attempts:
            if limit.over:
                what, why = "announcing a slice in the ledger", "its entry does not show"
                raise UnreachableError(Side.TARGET, what, why)
            self._unheard += self._ledger.read(SESSIONS, wait=_WAIT)
            self._count_attempts(self._unheard)
        return self._name != next(iter(self._attempts))

    @property
    def too_late(self) -> bool:
        """Whether the round had ended when this attempt was announced."""
        ours = [e for e in self._unheard if isinstance(e, Session) and self._is_ours(e)]
        return bool(ours) and self._ending(ours[-1]) is not None

    def run(self) -> None:
        """Read the ledger until the slice has a reason to end, and report the reason once.

        A slice that drains at the end of its round must still learn that it may write.
        """
        heard, told = time.monotonic(), None
        while not self._finished.is_set():
            asked, began = self._permit.ask(), time.monotonic()
            try:
                entries = self._read()
            except TowpathError as error:
                if self._is_last(error):
                    self._permit.lose()
                    self._on_end(SliceEnd.BOOKLESS)
                    return
                self._finished.wait(_WAIT)
                heard += time.monotonic() - began  # no entry can be read while the target is away
                continue
            sessions = [e for e in entries if isinstance(e, Session) and self._concerns(e)]
            if sessions:
                heard = time.monotonic()
            end = self._reason(sessions, time.monotonic() - heard)
            end = self._told_otherwise(entries) or end
            if end is not None and (end not in _DRAINS or self._is_late()):
                self._permit.lose()
            if end is not None and end is not told:
                told = end
                self._on_end(end)
            if self._permit.lost:
                return
            self._permit.heard(asked)
            if told is None:
                self._hand_over(entries)

    def _is_last(self, error: TowpathError) -> bool:
        """Whether nothing can be read after an error, ever, so that nothing may be copied."""
        try:
            if not isinstance(error, ENDS):
                self._ledger.require_same()
        except TowpathError as found:
            error = found
        return isinstance(error, ENDS)

    def _is_late(self) -> bool:
        """Whether others may have gone on with the partitions before this end was heard."""
        left = self._ours.left_round if self._ours is not None else 0
        return left >= self._work.round or self._permit.pauses() > 0

    def _read(self) -> list[ReadEntry]:
        """Read on. The first result includes the entries read during the announcement.

        Those entries alone would not renew the permit: the process may have been paused since then.
        """
        fresh = self._ledger.read(SESSIONS, wait=0.0 if self._unheard else _WAIT)
        unheard, self._unheard = self._unheard, []
        return unheard + fresh

    def attempt(self, *, ready: bool = False) -> Attempt:
        """Return the ledger entry by which this attempt at a slice announced itself."""
        work = self._work
        return Attempt(
            link=work.link,
            run_id=work.run_id,
            round=work.round,
            slice=work.number,
            attempt=work.attempt,
            name=self._name,
            ready=ready,
        )

    def _is_mine(self, entry: Attempt | Dealt | Share) -> bool:
        """Whether an entry is about this slice."""
        work = self._work
        mine = work.link, work.run_id, work.round, work.number
        return (entry.link, entry.run_id, entry.round, entry.slice) == mine

    def _count_attempts(self, entries: Iterable[ReadEntry]) -> None:
        for entry in entries:
            if isinstance(entry, Attempt) and self._is_mine(entry):
                self._attempts.setdefault(entry.name)

    def _is_repeated(self, entries: Iterable[ReadEntry]) -> bool:
        """Whether another attempt at this slice has begun after this one."""
        self._count_attempts(entries)
        return self._name != next(reversed(self._attempts))

    def _told_otherwise(self, entries: Iterable[ReadEntry]) -> SliceEnd | None:
        """Return why others have the say over the partitions now, `None` if they have not."""
        repeated = self._is_repeated(entries)
        if self._is_sealed(entries):
            return SliceEnd.SEALED
        return SliceEnd.REPEATED if repeated else None

    def _is_sealed(self, entries: Iterable[ReadEntry]) -> bool:
        """Whether the last state of the whole link among these entries is one without copying."""
        states = [
            each
            for each in entries
            if isinstance(each, LinkState)
            and (each.link, each.topic) == (self._work.link, WHOLE_LINK)
        ]
        return self._work.kind == MIRROR and bool(states) and states[-1].is_closed

    def _hand_over(self, entries: Iterable[ReadEntry]) -> None:
        for entry in entries:
            if isinstance(entry, Dealt) and self._is_mine(entry):
                self._reactor.soon(partial(self._on_dealt, entry))
            elif isinstance(entry, Share) and self._is_mine(entry):
                self._reactor.soon(partial(self._on_share, entry))
            elif isinstance(entry, Released) and self._is_of_before(entry):
                self._reactor.soon(partial(self._round_before.released, entry))
            elif isinstance(entry, Session) and self._is_ours(entry):
                self._hear(entry)

    def _hear(self, entry: Session) -> None:
        if entry.left_round >= self._work.follows > 0:
            self._reactor.soon(self._round_before.left)
        if entry.news != self._news:
            self._news = entry.news
            self._reactor.soon(self._on_news)

    def _is_of_before(self, entry: Released) -> bool:
        """Whether an entry is of a slice of the round before."""
        work = self._work
        before = work.link, work.run_id, work.follows
        return (entry.link, entry.run_id, entry.round) == before

    def finish(self) -> None:
        """Stop reading. Close the ledger's client to interrupt a waiting read."""
        self._finished.set()

    def _is_ours(self, session: Session) -> bool:
        return (session.link, session.run_id) == (self._work.link, self._work.run_id)

    def _concerns(self, session: Session) -> bool:
        """Whether an entry is of our run, or of another such run of the link that is not over."""
        ours = session.run_id == self._work.run_id
        same = (session.link, session.work) == (self._work.link, self._work.kind)
        return same and (ours or not session.over)

    def _reason(self, sessions: list[Session], silence: float) -> SliceEnd | None:
        own = [n for n, session in enumerate(sessions) if session.run_id == self._work.run_id]
        if own:  # earlier entries are of runs that ended or gave way
            self._ours = sessions[own[-1]]
            self._others.clear()
        for other in sessions[own[-1] + 1 if own else 0 :]:
            self._others[other.run_id] += 1
            if self._replaces(other):
                return SliceEnd.REPLACED
        end = self._ending(self._ours) if self._ours is not None else None
        return end or (SliceEnd.ORPHANED if silence > ORPHANED else None)

    def _ending(self, last: Session) -> SliceEnd | None:
        """Return the end that the driver told with its last sign of life."""
        if last.over:
            return SliceEnd.RUN
        return SliceEnd.ROUND if last.ended_round >= self._work.round else None

    def _replaces(self, other: Session) -> bool:
        """Whether another run has taken over.

        A run that was frozen writes one more session entry before it learns of the run that took
        over. Such a run is older, and writes only one.
        """
        ours = self._ours
        if ours is None or self._others[other.run_id] > 1:
            return True
        return (other.started, other.run_id) > (ours.started, ours.run_id)
