"""Timers and blocking calls that delay one owner, such as a lane, and no other.

One rule holds for all of them: a job is void once its owner was stopped or is opened again, because
an opening does whatever had been put off. So no timer and no late answer needs its own check of
what has happened meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Generic, Protocol, TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side
from towpath.settings import ClusterConfig


class Owner(Protocol):
    """Owner of jobs, for example a lane; compared by identity.

    Attributes:
        busy: Blocking work is running that excludes all other work for the owner.
        openings: How often the owner was opened again.
    """

    busy: bool
    openings: int

    @property
    def stopped(self) -> bool:
        """Whether the owner has stopped."""

    def __hash__(self) -> int:
        """Return the hash of the identity."""


T = TypeVar("T")
O = TypeVar("O", bound=Owner)  # noqa: E741  # the owner
Counts = Callable[[], bool]


class Jobs:
    """Timers and blocking calls of owners. A `TowpathError` goes to `failed`; others are raised."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._closed = False

    def close(self) -> None:
        """Ignore the results of jobs from now on."""
        self._closed = True

    def later(self, owner: Owner, seconds: float, call: Callable[[], None]) -> None:
        """Call a function once, after `seconds`."""
        counts = self.counting(owner)
        self._reactor.later(seconds, lambda: call() if counts() else None)

    def look(
        self,
        owner: Owner,
        work: Callable[[], T],
        found: Callable[[T], None],
        failed: Callable[[TowpathError], None],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Do blocking `work` without marking the owner as busy."""
        self.run(work, self._counted(owner, found, failed), pool)

    def hold(
        self,
        owner: Owner,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[TowpathError], None],
    ) -> None:
        """Do blocking `work`, and mark the owner as busy until it is done."""
        owner.busy, openings = True, owner.openings
        counted = self._counted(owner, done, failed)

        def over(answer: T | TowpathError) -> None:
            if owner.openings == openings:  # otherwise it is busy with an opening
                owner.busy = False
            counted(answer)

        self.run(work, over)

    def counting(self, owner: Owner) -> Counts:
        """Return a function that says whether a job begun now is still valid."""
        openings = owner.openings
        return lambda: not (self._closed or owner.stopped or owner.openings != openings)

    def run(
        self,
        work: Callable[[], T],
        over: Callable[[T | TowpathError], None],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Do blocking `work` in the reactor's pool or in `pool`; `over` gets its result.

        An error that is no `TowpathError` is raised in the reactor's thread, unless the jobs were
        closed.
        """

        def ended(future: Future[T]) -> None:
            error = future.exception()
            if error is None:
                over(future.result())
            elif isinstance(error, TowpathError):
                over(error)
            elif not self._closed:
                raise error

        self._reactor.run(work, ended, pool)

    def _counted(
        self, owner: Owner, done: Callable[[T], None], failed: Callable[[TowpathError], None]
    ) -> Callable[[T | TowpathError], None]:
        counts = self.counting(owner)

        def over(answer: T | TowpathError) -> None:
            if not counts():
                return
            if isinstance(answer, TowpathError):
                failed(answer)
            else:
                done(answer)

        return over


class Gathered(Generic[O, T]):
    """Blocking work that is done for many owners at once.

    While such work is running for a party, its other owners wait; they are done together
    afterwards. No owner is part of two works at a time, whatever its party.

    Args:
        jobs: Their rule holds here too.
        begin: Gets the owners of the next work, in the reactor's thread. Returns the work, which
            returns an answer or an error for each owner.
        done: Gets the answer of each owner for which it is still valid.
        pool: Where the work is done, if not in the reactor's pool.
    """

    def __init__(
        self,
        jobs: Jobs,
        begin: Callable[[list[O]], Callable[[], Mapping[O, T | TowpathError]]],
        done: Callable[[O, T | TowpathError], None],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._jobs, self._begin, self._done, self._pool = jobs, begin, done, pool
        self._waiting: defaultdict[Hashable, dict[O, Counts]] = defaultdict(dict)
        self._at_work: dict[Hashable, dict[O, Counts]] = {}

    def add(self, owner: O, party: Hashable = None) -> None:
        """Add an owner to the work; it is busy until the work is done."""
        owner.busy = True
        self._waiting[party][owner] = self._jobs.counting(owner)
        self._start(party)

    def _start(self, party: Hashable) -> None:
        if party in self._at_work:
            return
        elsewhere = {owner for owners in self._at_work.values() for owner in owners}
        waiting = {o: counts for o, counts in self._waiting.pop(party, {}).items() if counts()}
        due = {o: counts for o, counts in waiting.items() if o not in elsewhere}
        if len(due) < len(waiting):
            self._waiting[party] = {o: waiting[o] for o in waiting.keys() - due.keys()}
        if due:
            self._at_work[party] = due
            self._jobs.run(
                self._begin(list(due)), lambda answers: self._over(party, answers), self._pool
            )

    def _over(self, party: Hashable, answers: Mapping[O, T | TowpathError] | TowpathError) -> None:
        for owner, counts in self._at_work.pop(party).items():
            if not counts():
                continue
            owner.busy = False
            if isinstance(answers, TowpathError):
                self._done(owner, answers)
            elif owner in answers:
                self._done(owner, answers[owner])
        for waiting in list(self._waiting):
            self._start(waiting)


class ClientPool:
    """Pool of blocking clients of one cluster, one for each job at a time; thread-safe.

    Each job has one to itself and leaves it for others.
    """

    def __init__(self, config: ClusterConfig, side: Side, admin: Admin) -> None:
        self._config, self._side, self._admin = config, side, admin
        self._all: list[Client] = []
        self._idle: list[Client] = []
        self._lock = Lock()
        self.closed = False

    def close(self) -> None:
        """Close all connections; running jobs fail, and their errors are ignored."""
        with self._lock:
            self.closed = True
            for client in self._all:
                client.close()

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Lend an unused client to the body of a `with` statement."""
        client = self._take()
        try:
            yield client
        finally:
            with self._lock:
                self._idle.append(client)

    def _take(self) -> Client:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            client = Client(self._config, self._side, self._admin)
            if self.closed:
                client.close()
            self._all.append(client)
            return client
