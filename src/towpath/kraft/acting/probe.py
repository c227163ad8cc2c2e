"""A topic that is made and deleted again, to show that changes reach every broker and ZooKeeper."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.config.clusters import ClusterConfig
from towpath.kraft.acting.waiting import Tell
from towpath.kraft.model import PROBE
from towpath.kraft.observing.seen import ZooKeeperSeen
from towpath.model.deadline import Deadline
from towpath.model.errors import StepLateError

_SIDE = "cluster"
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """How long a change took to be everywhere, in seconds: the creation, the deletion."""

    created: float
    deleted: float


def probe(
    config: ClusterConfig,
    read: Callable[[Deadline], ZooKeeperSeen],
    limit: str,
    seconds: float,
    tell: Tell,
) -> ProbeTimes:
    """Make a topic, see it in ZooKeeper and on each broker, and delete it again everywhere.

    A topic of that name that a killed process has left is deleted first.

    Args:
        config: The brokers, and how to log in.
        read: Reads ZooKeeper.
        limit: The key of `limits` that gives the time.
        seconds: How long each of the two may take.
        tell: Is told what is waited for.

    Raises:
        ClusterError: The brokers refuse, or do not answer.
        StepLateError: A broker or ZooKeeper did not show it in time.
    """
    with Admin(config, _SIDE) as admin:
        passing = _Passing(admin, read, limit, seconds, tell)
        passing.delete()
        created = passing.create()
        return ProbeTimes(created, passing.delete())


@dataclass(frozen=True, slots=True)
class _Passing:
    admin: Admin
    read: Callable[[Deadline], ZooKeeperSeen]
    limit: str
    seconds: float
    tell: Tell

    def create(self) -> float:
        began = time.monotonic()
        self.admin.topics.create_small(PROBE, {})
        self._until(f"topic {PROBE} is on every broker", self._everywhere)
        self._until(f"topic {PROBE} is in ZooKeeper", lambda _: self._in_zookeeper())
        return time.monotonic() - began

    def delete(self) -> float:
        began = time.monotonic()
        found = self.admin.topics.find(PROBE)
        if found is None and not self._in_zookeeper():
            return 0.0
        if found is not None:
            self.admin.topics.delete(PROBE, found.id)
        self._until(f"topic {PROBE} is gone from every broker", self._nowhere)
        self._until(f"topic {PROBE} is gone from ZooKeeper", lambda _: not self._in_zookeeper())
        return time.monotonic() - began

    def _in_zookeeper(self) -> bool:
        seen = self.read(Deadline.after(self.seconds))
        return PROBE in seen.image.topics or PROBE in seen.deleting

    def _everywhere(self, _: Deadline) -> bool:
        return PROBE in self.admin.topics.everywhere([PROBE])

    def _nowhere(self, _: Deadline) -> bool:
        return PROBE in self.admin.topics.nowhere([PROBE])

    def _until(self, what: str, holds: Callable[[Deadline], bool]) -> None:
        deadline = Deadline.after(self.seconds)
        self.tell(f"waiting until {what}")
        while not holds(deadline):
            if deadline.over:
                raise StepLateError(what, self.seconds, self.limit, "it is not so yet")
            time.sleep(_PAUSE)
