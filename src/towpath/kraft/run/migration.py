"""A migration as opened for one command: observer, executor, journal and lock."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

from towpath.kraft.config import KraftConfig, KubernetesDriver
from towpath.kraft.decide.gates import too_early
from towpath.kraft.decide.moves import Facts, Reached
from towpath.kraft.decide.next_steps import next_steps
from towpath.kraft.decide.outline import Outline, outline
from towpath.kraft.decide.planner import decide
from towpath.kraft.decide.preflight.preflight import BEFORE_COPY, preflight
from towpath.kraft.decide.preflight.surroundings import surroundings, users
from towpath.kraft.errors import ZooKeeperError
from towpath.kraft.facts.nouns import Goal, NodeId
from towpath.kraft.facts.seen import ZooKeeperSeen
from towpath.kraft.findings.findings import Finding, Refused, stops
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.look.around import look_around, users_of
from towpath.kraft.look.observer import Observer
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.fenced import FencedDriver
from towpath.kraft.run.hands import Hands
from towpath.kraft.run.loop import KraftRun, RunEnd
from towpath.kraft.run.manifests import manifests
from towpath.kraft.run.metering import Tell, Teller, telling
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.kraft.zookeeper.lock import ClusterLock, Waiting
from towpath.runtime.deadline import Deadline
from towpath.runtime.user import this_user

_LOOK = 60.0
"""Seconds that one look may take."""
_LOCK = 60.0
"""Seconds to wait for another one's lock: that of a killed process ends with its session."""
_RELEASE = 5.0
_NO_LOCK = (
    "ZooKeeper is gone, so its lock cannot keep a Towpath on another machine away; start no other"
    " one on this cluster"
)
_SESSION = 10.0
"""Seconds to wait for a session with ZooKeeper."""


class Migration:
    """A migration, whose connections are opened on first use.

    Args:
        config: The file.
        lost: Controllers whose disks are lost for good: they are formatted anew.
    """

    def __init__(self, config: KraftConfig, lost: Iterable[int] = ()) -> None:
        self.config = config
        self._lost = frozenset(map(NodeId, lost))
        self.journal = KraftJournal(Path(config.journal))
        self._stack = ExitStack()
        self._lock: ClusterLock | None = None
        self._teller: Teller | None = None
        self._left_zookeeper = False

    def __enter__(self) -> Self:
        self._zookeeper = ZooKeeper(self.config.zookeeper)
        self._is_open = False
        self._stack.callback(self._zookeeper.close)
        self._drivers = drivers = drivers_of(self.config, self._notice)
        self._eyes = Observer(
            self.config, drivers, self._read_zookeeper, self.journal, self._zookeeper.ensemble
        )
        self._stack.callback(self._eyes.close)
        fenced = {node: FencedDriver(each, self._require) for node, each in drivers.items()}
        self._hands = Hands(self.config, fenced, self._zookeeper, self._eyes.look, self.journal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _read_zookeeper(self, deadline: Deadline) -> ZooKeeperSeen:
        """Read ZooKeeper, which is gone for good behind a finalized migration."""
        if not self._is_open:
            self._zookeeper.open(Deadline.after(min(_SESSION, deadline.left())))
            self._is_open = True
        return self._zookeeper.read(deadline)

    def _notice(self, node: NodeId, text: str) -> None:
        """Write down and tell what a driver took from others."""
        self.journal.add(KraftEvent.TAKEN, node=node, what=text)
        if self._teller is not None:
            self._teller.add(f"node {node}: {text}")

    def _require(self) -> None:
        """Raise where the lock was lost, also in the middle of a step.

        While ZooKeeper is away a step is finished: nobody else can take the lock meanwhile.

        Raises:
            ZooKeeperLockLostError: Another process may work on the cluster now.
        """
        if self._lock is not None:
            with suppress(ZooKeeperError):
                self._lock.require(Deadline.after(_SESSION))

    def look(self) -> Facts:
        """Observe the cluster, and return the facts."""
        return Facts.of(self.config, self._eyes.look(Deadline.after(_LOOK)), self._lost)

    def check(self) -> tuple[Finding, ...]:
        """Return everything that would stop the migration, or lose something in it."""
        facts = self.look()
        if facts.standing.over:  # ZooKeeper and its ways may be gone
            return preflight(self.config, facts.seen)
        around = look_around(self.config, facts.seen, self._drivers, self._zookeeper)
        return preflight(self.config, facts.seen, around)

    def concerns(self, facts: Facts, goal: Goal) -> tuple[Finding, ...]:
        """Return findings to show before the steps to a goal begin, with problems that stop them.

        Before the copy, hosts are asked as `check` asks them: what would stop a step later on stops
        before anything is changed. Before a finalize, who else uses ZooKeeper is named.
        """
        if (early := too_early(facts, goal)) is not None:
            return (early,)
        if goal is Goal.DUAL_WRITE and facts.standing.stage in BEFORE_COPY:
            around = look_around(self.config, facts.seen, self._drivers, self._zookeeper)
            return stops(surroundings(facts, around))
        if goal is Goal.FINAL:
            return tuple(users(facts, users_of(self.config, facts.seen, self._zookeeper)))
        return ()

    def outline(self, goal: Goal) -> tuple[Facts, Outline]:
        """Observe the cluster; return the facts, and the forecast of all steps to a goal."""
        facts = self.look()
        return facts, outline(self.config, facts.seen, goal, self._lost)

    def manifests(self, facts: Facts, planned: Outline, goal: Goal) -> Mapping[str, str] | None:
        """Return planned steps as `kubectl` files by name, `None` if nodes are not pods.

        Raises:
            StepRefusedError: The properties of a step cannot be made.
            DriverError: The objects of a node cannot be seen, or are not ours to touch.
        """
        if not isinstance(self.config.driver, KubernetesDriver):
            return None
        return manifests(self.config, facts.seen, self._drivers.values(), planned, goal)

    def over(self, goal: Goal) -> RunEnd | None:
        """Return the result of a run after a finalized migration, else `None`.

        It needs no lock, which nobody could take there: ZooKeeper may be gone.
        """
        facts = self.look()
        if not facts.standing.over:
            return None
        self._left_zookeeper = facts.seen.zookeeper is None
        match decide(facts, goal):
            case Reached():
                return RunEnd(facts.standing, 0, notes=next_steps(facts))
            case Refused(reasons):
                return RunEnd(facts.standing, 0, reasons)
            case _:
                return None

    @contextmanager
    def alone(self, told: Callable[[object], object]) -> Iterator[ClusterLock | None]:
        """Hold the lock of the cluster, so that no other Towpath process works on it.

        Behind a finalize ZooKeeper may be gone, and brokers may be stranded without it: its lock is
        not needed then, but that of the journal, which keeps others away on this machine alone.

        Args:
            told: Is told who holds the lock, if it must be waited for, or that there is none.

        Raises:
            ZooKeeperHeldError: Another process holds it.
            ZooKeeperError: ZooKeeper cannot be used.
            JournalHeldError: Another process on this machine holds the journal.
        """
        if self._left_zookeeper:
            with self.journal.held():
                told(_NO_LOCK)
                yield None
            return
        with self._locked(told) as lock:
            yield lock

    @contextmanager
    def _locked(self, waiting: Waiting) -> Iterator[ClusterLock]:
        me = f"{this_user()} on {socket.gethostname()}, pid {os.getpid()}"
        if not self._is_open:
            self._zookeeper.open(Deadline.after(_SESSION))
            self._is_open = True
        lock = self._zookeeper.lock(me, Deadline.after(_LOCK), waiting)
        self._lock = lock
        try:
            yield lock
        finally:
            with suppress(ZooKeeperError):  # it ends with our session in any case
                lock.release(Deadline.after(_RELEASE))

    def approve(
        self, facts: Facts, goal: Goal, planned: Outline, notes: Iterable[Finding] = ()
    ) -> None:
        """Record in the journal that a person approved these steps and saw these notes.

        Raises:
            KraftJournalError: The journal is that of another cluster, or cannot be written.
        """
        if facts.seen.zookeeper is not None:
            self.journal.belong_to(facts.seen.zookeeper.cluster_id)
        steps = [each.sentence for each in planned.steps]
        told = [str(each) for each in notes]
        self.journal.add(KraftEvent.APPROVED, goal=goal, by=this_user(), steps=steps, notes=told)

    def watch(self, every: float, stop: Event, tell: Tell) -> Facts:
        """Observe every few seconds until `stop` is set; return the last facts."""
        with telling(self.config, tell) as told:
            while True:
                facts = self.look()
                told(facts, "")
                if stop.wait(every):
                    return facts

    def bring_to(self, goal: Goal, stop: Event, tell: Tell, lock: ClusterLock | None) -> RunEnd:
        """Do steps until the goal is reached, no step is safe, or `stop` is set; see `KraftRun`."""

        def before() -> None:
            if lock is not None:
                lock.require(Deadline.after(_LOOK))

        with telling(self.config, tell) as told:
            self._teller = teller = Teller(told)
            eyes, hands, lost = self._eyes, self._hands, self._lost
            run = KraftRun(self.config, eyes, hands, self.journal, teller, before, lost)
            return run.bring_to(goal, stop)
