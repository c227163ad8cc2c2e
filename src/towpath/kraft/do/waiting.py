"""Waits of steps, with messages about the awaited condition and the last observation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event

from towpath.kraft.config.file import KraftLimits
from towpath.kraft.errors import NodeEndedError, StepLateError, StepStoppedError
from towpath.kraft.facts.image import ClusterImage
from towpath.kraft.facts.nodes import file_mode, is_registered
from towpath.kraft.facts.nouns import BrokerMode, LogState, NodeId
from towpath.kraft.facts.seen import NodeSeen, Observation
from towpath.kraft.reach.driver import Driver
from towpath.runtime.deadline import Deadline

Look = Callable[[Deadline], Observation]
Tell = Callable[[str], None]
Missing = Callable[[Observation], str | None]
"""Tells what is seen instead of what is waited for; None once that has come."""
Left = Callable[[], str]
"""Tells what a step has changed so far, for somebody who ends it while it waits."""

_LOOK = 60.0
"""Seconds that one look may take."""
_PAUSE = 0.5
_LOG_LINES = 25
_NAMED = 5
"""Number of partitions that a sentence names."""


def unchanged() -> str:
    """Return the sentence of a step that only waits and has changed nothing."""
    return "nothing was changed by this step"


@dataclass(frozen=True, slots=True)
class StepWaits:
    """Observes a cluster until a condition holds.

    Attributes:
        limits: How long waits may last.
        drivers: Tell whether the nodes that are waited for still run.
        look: Looks at the cluster.
        tell: Is told what is waited for.
        stop: Is set once the user asks to end.
    """

    limits: KraftLimits
    drivers: Mapping[NodeId, Driver]
    look: Look
    tell: Tell
    stop: Event = field(default_factory=Event)

    def now(self) -> Observation:
        """Observe the cluster once."""
        return self.look(Deadline.after(_LOOK))

    def until(
        self,
        what: str,
        limit: str,
        missing: Missing,
        nodes: Iterable[NodeId] = (),
        left: Left | None = unchanged,
    ) -> Observation:
        """Wait until `missing` reports nothing; return the last observation.

        Args:
            what: What is waited for.
            limit: The key of `limits` that says how long.
            missing: Tells what is seen instead.
            nodes: Those that must keep running meanwhile.
            left: Tells what the step has changed, where the user may end this wait; None where the
                rest of the step must follow, as a broker is stopped that is to be started.

        Raises:
            StepLateError: It did not come in time.
            StepStoppedError: The user asked to end.
            NodeEndedError: A node ended meanwhile.
        """
        seconds = float(getattr(self.limits, "copy_" if limit == "copy" else limit))
        deadline = Deadline.after(seconds)
        told = None
        kept = {node: self.drivers[node].incarnation() for node in nodes}
        while True:
            self._require_running(kept, what)
            seen = self.now()
            found = missing(seen)
            if found is None:
                return seen
            if deadline.over:
                raise StepLateError(what, seconds, limit, found)
            if found != told:
                self.tell(f"waiting until {what}: {found}")
                told = found
            self._pause(what, min(_PAUSE, deadline.left()), left)

    def _pause(self, what: str, seconds: float, left: Left | None) -> None:
        if left is None:
            time.sleep(seconds)
        elif self.stop.wait(seconds):
            raise StepStoppedError(what, left())

    def _require_running(self, kept: Mapping[NodeId, str | None], what: str) -> None:
        """Raise where a node has ended, with the end of its log.

        Args:
            kept: The incarnation of each node as the wait began. Another one tells that its process
                ended and was started again.
            what: What is waited for.
        """
        for node, began in kept.items():
            driver = self.drivers[node]
            now = driver.incarnation()
            if now is None or now != began:
                raise NodeEndedError(node, what, driver.log(_LOG_LINES))


def not_serving(seen: Observation, node: NodeId, mode: BrokerMode, epoch: int | None) -> str | None:
    """Return why a broker does not serve in a mode, `None` if it does.

    Args:
        seen: What is seen.
        node: The broker.
        mode: The mode.
        epoch: Its registration in the metadata log before it was stopped, which may still stand
            there; None where it was not stopped or not registered.
    """
    there = seen.brokers.get(node)
    if there is None:
        return _unseen(seen, f"node {node}")
    if there.mode is None:
        return f"broker {node} does not answer yet"
    if there.mode is not mode or file_mode(there) is not mode or there.stale:
        return _other_mode(there, mode)
    if not is_registered(seen, node):
        return f"broker {node} answers, and is not registered or is fenced"
    registered = seen.log.brokers.get(node) if seen.log else None
    if epoch is not None and registered is not None and registered.epoch == epoch:
        return f"broker {node} answers, and has not registered again"
    return None


def _other_mode(there: NodeSeen, mode: BrokerMode) -> str:
    """Return what a broker runs with, and where its file says otherwise what may be the cause."""
    if there.stale and there.mode is not mode:
        return f"broker {there.id} runs in {there.mode} mode"
    if file_mode(there) is not mode:
        why = "something else writes that file"
        return f"broker {there.id} runs in {there.mode} mode, as its file says: {why}"
    if there.stale:
        advice = "`touch` it on its host if its time lies in the future"
        return f"the file of broker {there.id} is newer than its process; {advice}"
    why = "it may be started with another file, or with `--override`"
    return f"broker {there.id} runs in {there.mode} mode, and its file is for {mode} mode: {why}"


def not_in_sync(seen: Observation, node: NodeId | None = None) -> str | None:
    """Return the partitions whose ISR lacks a broker or any replica, `None` if all are in sync."""
    image = _deciding(seen)
    if image is None:
        return _unseen(seen, "the state of partitions")
    behind = [
        f"{name}-{index}"
        for name, topic in sorted(image.topics.items())
        for index, each in sorted(topic.partitions.items())
        if (lacking := set(each.replicas) - set(each.adding) - set(each.isr))
        and (node is None or node in lacking)
    ]
    if not behind:
        return None
    named = ", ".join(behind[:_NAMED]) + (" and others" if len(behind) > _NAMED else "")
    whose = "not all replicas" if node is None else f"broker {node} not"
    return f"{whose} in sync in {len(behind)} partitions: {named}"


def not_gone(seen: Observation, node: NodeId) -> str | None:
    """Return a sentence while ZooKeeper keeps a stopped broker's session, else `None`."""
    if seen.zookeeper is None:
        return _unseen(seen, "ZooKeeper")
    return f"/brokers/ids/{node} is still there" if node in seen.zookeeper.brokers else None


def _deciding(seen: Observation) -> ClusterImage | None:
    """Return the contents of the store that decides: once copied, the metadata log does."""
    if seen.log is not None and seen.log.state in {LogState.MIGRATION, LogState.POST_MIGRATION}:
        return seen.log.image
    return seen.zookeeper.image if seen.zookeeper is not None else None


def _unseen(seen: Observation, what: str) -> str:
    why = next((each.why for each in seen.unseen if each.what == what), "")
    return f"{what} was not seen{': ' if why else ''}{why}"
