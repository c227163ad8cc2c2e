"""A probe topic, created and deleted to prove that changes reach brokers and ZooKeeper.

Nothing is deleted that we have not made: each topic has a name of its own with random letters,
which the journal knows before the topic is made.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event

from towpath.cluster.admin import Admin
from towpath.kraft.do.waiting import Tell
from towpath.kraft.errors import StepLateError, StepStoppedError
from towpath.kraft.facts.nouns import PROBES
from towpath.kraft.facts.seen import ZooKeeperSeen
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName
from towpath.runtime.deadline import Deadline
from towpath.settings.sections.clusters import ClusterConfig

_SIDE = "cluster"
_PAUSE = 0.1
_RANDOM = 8
"""Random bytes of a name."""


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """Seconds until each broker knew the creation and the deletion of a probe topic."""

    created: float
    deleted: float


@dataclass(frozen=True, slots=True)
class Probing:
    """The inputs of one probe.

    Attributes:
        config: The brokers, and how to log in.
        read: Reads ZooKeeper.
        journal: Knows the topics that are ours.
        limit: The key of `limits` that gives the time.
        seconds: How long each creation and deletion may take.
        tell: Is told what is waited for.
        stop: Is set once the user asks to end.
    """

    config: ClusterConfig
    read: Callable[[Deadline], ZooKeeperSeen]
    journal: KraftJournal
    limit: str
    seconds: float
    tell: Tell
    stop: Event = field(default_factory=Event)


def probe(probing: Probing) -> ProbeTimes:
    """Create a topic, wait for it in ZooKeeper and on each broker, and delete it again.

    Those that killed processes have left are deleted first, as far as the journal names them.

    Raises:
        ClusterError: The brokers refuse, or do not answer.
        StepLateError: A broker or ZooKeeper did not show it in time.
        StepStoppedError: The user asked to end; the next probe deletes what this one has left.
        KraftJournalError: The journal cannot be written; nothing is made then.
    """
    with Admin(probing.config, _SIDE) as admin:
        for left in probing.journal.probes:
            _Passing(admin, probing, TopicName(left)).delete()
        passing = _Passing(admin, probing, TopicName(PROBES + secrets.token_hex(_RANDOM)))
        created = passing.create()
        return ProbeTimes(created, passing.delete())


@dataclass(frozen=True, slots=True)
class _Passing:
    admin: Admin
    probing: Probing
    topic: TopicName

    def create(self) -> float:
        self.probing.journal.add(KraftEvent.PROBE_NAMED, topic=self.topic)
        began = time.monotonic()
        self.admin.topics.create_small(self.topic, {})
        self._until(f"topic {self.topic} is on every broker", self._everywhere)
        self._until(f"topic {self.topic} is in ZooKeeper", lambda _: self._in_zookeeper())
        return time.monotonic() - began

    def delete(self) -> float:
        began = time.monotonic()
        found = self.admin.topics.find(self.topic)
        if found is not None:
            self.admin.topics.delete(self.topic, found.id)
        self._until(f"topic {self.topic} is gone from every broker", self._nowhere)
        self._until(
            f"topic {self.topic} is gone from ZooKeeper", lambda _: not self._in_zookeeper()
        )
        seconds = time.monotonic() - began
        self.probing.journal.add(KraftEvent.PROBE_GONE, topic=self.topic)
        return seconds

    def _in_zookeeper(self) -> bool:
        seen = self.probing.read(Deadline.after(self.probing.seconds))
        return self.topic in seen.image.topics or self.topic in seen.deleting

    def _everywhere(self, _: Deadline) -> bool:
        return self.topic in self.admin.topics.everywhere([self.topic])

    def _nowhere(self, _: Deadline) -> bool:
        return self.topic in self.admin.topics.nowhere([self.topic])

    def _until(self, what: str, holds: Callable[[Deadline], bool]) -> None:
        seconds = self.probing.seconds
        deadline = Deadline.after(seconds)
        self.probing.tell(f"waiting until {what}")
        while not holds(deadline):
            if deadline.over:
                raise StepLateError(what, seconds, self.probing.limit, "it is not so yet")
            if self.probing.stop.wait(_PAUSE):
                raise StepStoppedError(what, self._given_up())

    def _given_up(self) -> str:
        """Ask for the deletion of the topic, and return what is left."""
        with suppress(ClusterError):
            if (found := self.admin.topics.find(self.topic)) is not None:
                self.admin.topics.delete(self.topic, found.id)
        return (
            f"the deletion of probe topic {self.topic} was asked for and not waited for; the next"
            " `kraft run` or `rollback` deletes what is left of it"
        )
