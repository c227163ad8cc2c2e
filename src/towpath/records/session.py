"""The session of a run in the ledger, which excludes other runs and ends slices."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from contextlib import closing, suppress

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.alive import ProcessKey, birth, is_gone, process_of, this_host, this_space
from towpath.ledger.books.link import sealed
from towpath.ledger.entries import (
    MIRROR,
    WHOLE_LINK,
    Attempt,
    Dealt,
    LinkState,
    Paced,
    Session,
    Share,
    Unreadable,
)
from towpath.ledger.ledger import ENDS, SESSIONS, Ledger
from towpath.model.errors import LinkBusyError, TowpathError
from towpath.model.nouns import LinkName, Side
from towpath.records.late_writes import LateWrites
from towpath.records.permit import TAKEOVER
from towpath.runtime.clock import now_ms, readable
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

_BEAT = 2.0
_SILENCE = 7.0
"""Seconds without a heartbeat after which a run is considered dead."""


class LinkSession:
    """The heartbeats of this run, which also carry its messages to slices.

    Args:
        link: The link, or what else has progress in the ledger under a name.
        where: The target cluster.
        target: Its control plane.
        work: The kind of work; runs of different kinds do not exclude each other.
        on_end: Called when `taken_over` is set, in the thread of the heartbeats.

    Attributes:
        taken_over: The error to raise after a younger run has considered this one dead, the link
            was sealed, the ledger was deleted, or another cluster has taken the place of the
            target.
        dead: Host and process id of the previous run, if it ended without saying so.
        settled: Whether anything that this run or an earlier one sent can still arrive.
        begun: Attempts at slices of this run that have begun; the reader removes them.
        ready: Round and number of each slice that is connected and waits for the previous round.
        paced: The last report of each slice on its limits, by round and number of the slice.
    """

    def __init__(
        self,
        link: LinkName,
        where: ClusterConfig,
        target: Admin,
        work: str = MIRROR,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.run_id = uuid.uuid4().hex
        self._link, self._work, self._on_end = link, work, on_end
        self._client = Client(where, Side.TARGET, target)
        self._ledger = Ledger(target, self._client)
        self._lock = threading.Lock()
        self._started, self._ended_round, self._over = now_ms(), 0, False
        self._left_round = self._news = 0
        self._stopped = threading.Event()
        self._heard: Counter[str] = Counter()
        self.taken_over: TowpathError | None = None
        self.dead: ProcessKey | None = None
        self.settled = LateWrites()
        self.begun: deque[Attempt] = deque()
        self.ready: set[tuple[int, int]] = set()
        self.paced: dict[tuple[int, int], Paced] = {}
        self._names: dict[tuple[int, int], set[str]] = {}
        """The attempts at each slice, by round and number of the slice."""
        self._alone = Deadline.after(0)
        self._state: LinkState | None = None
        self._thread = threading.Thread(target=self._beat, name="towpath-beat", daemon=True)

    def start(self) -> None:
        """Raise if another run is alive, else start to write heartbeats.

        Raises:
            LinkBusyError: Another run of this link is alive.
        """
        try:
            self._refuse_second()
            self._tell()
            if not self.settled.before:  # slices that have not read of this run stop then
                self._alone = Deadline.after(TAKEOVER)
            self._refuse_later()
        except TowpathError:
            self._client.close()
            raise
        self._thread.start()

    def require_alone(self) -> None:
        """Raise if another run is alive, without writing a heartbeat.

        Raises:
            LinkBusyError: Another run of this link is alive.
        """
        with closing(self._client):
            self._refuse_second()

    def wait(self, stop: threading.Event) -> None:
        """Wait until slices of an earlier run, if any still run, have noticed this run."""
        stop.wait(self._alone.left())

    def end_round(self, number: int) -> None:
        """Tell this round's slices to drain and return."""
        self._ended_round = number
        self._tell()

    def leave_round(self, number: int) -> None:
        """Let slices of the next round take over partitions that this round did not release."""
        self._left_round = number
        self.ready.clear()
        self._tell()

    def tell_news(self) -> None:
        """Tell all slices that their source has new records."""
        self._news += 1
        self._tell()

    def deal(self, entries: Iterable[Dealt | Share]) -> None:
        """Assign partitions, or shares of rate limits, to running slices."""
        with self._lock:
            self._ledger.append(entries, SESSIONS)

    def end(self) -> None:
        """Tell all slices to drain and return, as the run is over."""
        self._over = True
        self._tell()

    def close(self) -> None:
        """Record the end of the run and close the connections; the ledger may be unreachable."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._over = True
        with suppress(TowpathError):
            self._tell()
        self._client.close()

    def _refuse_second(self) -> None:
        last = self._last()
        if last is not None and last.may_live and not is_gone(last):
            last = self._end_of(last)
        self.settled = LateWrites(before=last is None or (last.over and last.rested))
        self.dead = None if last is None or last.over else process_of(last)

    def _end_of(self, last: Session) -> Session:
        """Wait until a run has said that it ends; return its last entry, as it may be dead.

        Raises:
            LinkBusyError: It is alive.
        """
        deadline = time.monotonic() + _SILENCE
        while time.monotonic() < deadline:
            beat = self._last(wait=1.0)
            if beat is not None and not beat.over:
                raise self._busy(beat)
            if beat is not None:
                return beat
        return last

    def _refuse_later(self) -> None:
        """Raise if another run that started at the same time wrote its first heartbeat earlier."""
        for beat in self._beats():
            if beat.run_id == self.run_id:
                return
            if not beat.over:
                raise self._busy(beat)

    def _busy(self, other: Session) -> LinkBusyError:
        since = readable(other.started)
        return LinkBusyError(self._link, f"on {other.host}, pid {other.pid}, since {since}")

    def _last(self, wait: float = 0.0) -> Session | None:
        beats = self._beats(wait)
        return beats[-1] if beats else None

    def _beats(self, wait: float = 0.0) -> list[Session]:
        entries = [e for e in self._ledger.read(SESSIONS, wait=wait) if e.link == self._link]
        for entry in entries:
            if isinstance(entry, Unreadable):
                raise entry.error
            if isinstance(entry, Attempt) and entry.run_id == self.run_id:
                self._has_begun(entry)
            if isinstance(entry, LinkState) and entry.topic == WHOLE_LINK:
                self._state = entry
            if isinstance(entry, Paced) and entry.run_id == self.run_id:
                self.paced[entry.round, entry.slice] = entry
        return [e for e in entries if isinstance(e, Session) and e.work == self._work]

    @property
    def announced(self) -> Set[tuple[int, int]]:
        """Round and number of each slice that ran, or runs."""
        return self._names.keys()

    def was_repeated(self, number: int) -> bool:
        """Whether Spark has tried a slice of a round more than once."""
        return any(len(names) > 1 for (of, _), names in [*self._names.items()] if of == number)

    def _has_begun(self, attempt: Attempt) -> None:
        self._names.setdefault((attempt.round, attempt.slice), set()).add(attempt.name)
        if attempt.ready:
            self.ready.add((attempt.round, attempt.slice))
        else:
            self.begun.append(attempt)

    def _beat(self) -> None:
        while not self._stopped.wait(_BEAT):
            try:
                self._look()  # first, since another run may have taken over during a pause
                if self.taken_over is None:
                    self._tell()
            except TowpathError as error:
                self._doubt(error)

    def _doubt(self, error: TowpathError) -> None:
        """Find out whether no sign of life will reach this ledger again."""
        try:
            if isinstance(error, ENDS):
                raise error
            self._ledger.require_same()
        except ENDS as end:
            self._give_way(self.taken_over or end)
        except TowpathError:
            pass  # a target that is away comes back

    def _look(self) -> None:
        """Give way to a younger run after its second heartbeat; a refused run writes only one.

        End, too, once somebody has sealed the link.
        """
        with self._lock:
            beats = self._beats()
        if self._work == MIRROR and self._state is not None and self._state.is_closed:
            self._give_way(sealed(self._state))
        for beat in beats:
            self._heard[beat.run_id] += 1
            younger = (beat.started, beat.run_id) > (self._started, self.run_id)
            if younger and not beat.over and self._heard[beat.run_id] > 1:
                self._give_way(self._busy(beat))

    def _give_way(self, why: TowpathError) -> None:
        self.taken_over = why
        self._on_end()

    def _tell(self) -> None:
        with self._lock:
            entry = Session(
                link=self._link,
                run_id=self.run_id,
                host=this_host(),
                pid=os.getpid(),
                started=self._started,
                beat=now_ms(),
                ended_round=self._ended_round,
                over=self._over,
                rested=self._over and self.settled.now,
                left_round=self._left_round,
                news=self._news,
                work=self._work,
                space=this_space(),
                born=birth(),
            )
            self._ledger.append([entry], SESSIONS)
