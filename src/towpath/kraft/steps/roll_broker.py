"""The step that restarts a broker in another mode."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import ClassVar

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.stale_leaders import IsrWatch
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.do.waiting import Left, not_gone, not_serving, unchanged
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nodes import is_settled
from towpath.kraft.facts.nouns import Alarm, BrokerMode, NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import Reach
from towpath.kraft.files.configs import Properties, broker_properties
from towpath.kraft.files.stored import METADATA_LOG, metadata_dir
from towpath.kraft.findings.findings import Refused
from towpath.kraft.look.hosts import ask_host
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.elections import with_node
from towpath.kraft.steps.foretell import answering, registered, stopped
from towpath.kraft.steps.step import WritingStep

_MODES = {
    BrokerMode.ZOOKEEPER: "ZooKeeper mode",
    BrokerMode.MIGRATION: "migration mode",
    BrokerMode.KRAFT: "KRaft mode",
}


@dataclass(frozen=True, slots=True)
class RollBroker(WritingStep):
    """Restart a broker in another mode, with new properties, and wait until it serves.

    It serves when it is registered and not fenced where that mode registers, and all of its
    partitions are in sync.

    Attributes:
        mode: The mode.
    """

    stops_broker: ClassVar[bool] = True
    brings_broker_back: ClassVar[bool] = True
    mode: BrokerMode

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return f"restart broker {self.node} in {_MODES[self.mode]}"

    def properties(self, config: KraftConfig, seen: Observation) -> Properties | Refused:
        """Return the broker's properties for the mode."""
        current = seen.brokers[self.node].properties
        return broker_properties(config, self.mode, current, seen)

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of the broker's new file, stop, first answers, and registration."""
        node = seen.brokers[self.node]
        written = replace(node, properties=self.foreseen(config, seen), stale=node.running)
        seen = with_node(seen, written)
        yield seen
        seen = stopped(seen, written)
        yield seen
        seen = answering(seen, seen.brokers[self.node])
        yield seen
        yield registered(seen, seen.brokers[self.node])

    def do(self, tools: Tools) -> StepFacts:
        """Restart the broker, and wait until it serves and is in sync.

        While others are stranded it cannot come in sync, which is not waited for. One that runs in
        that mode with that file already is only waited for.

        Raises:
            StepLateError: It did not serve, or was not in sync, in time.
            StepStoppedError: The user asked to end while it was waited for.
            NodeEndedError: It ended as it started.
            StepRefusedError: Its properties cannot be made, or its host does not reach the
                controllers.
            DriverError: Its host refused, or somebody else keeps its properties.
        """
        node, mode, seen = self.node, self.mode, tools.waits.now()
        current = _properties(seen, node)
        wanted = self.required(tools.config, seen)
        facts: StepFacts = {}
        epoch: int | None = None
        there = seen.brokers[node]
        if dict(current) != dict(wanted) or there.mode is not mode or not is_settled(there):
            epoch = _epoch(seen, node)
            if there.mode is BrokerMode.ZOOKEEPER and mode is BrokerMode.MIGRATION:
                _require_ways(tools, seen, node)
            tools.drivers[node].require_ours(tools.path(node))
            tools.write(node, wanted)  # before the stop: a full disk leaves it running as it was
            facts = tools.stop(node)
            _forgotten(tools, node, mode)
            if mode is BrokerMode.ZOOKEEPER:
                _remove_metadata_log(tools, node, wanted)
            tools.drivers[node].start()
        left = (lambda: f"broker {node} was restarted in {mode} mode") if facts else unchanged
        return {**facts, **self._joined(tools, epoch, left)}

    def _joined(self, tools: Tools, epoch: int | None, left: Left) -> StepFacts:
        node, mode, began = self.node, self.mode, time.monotonic()
        what = f"broker {node} serves in {mode} mode"
        missing = partial(not_serving, node=node, mode=mode, epoch=epoch)
        now = tools.waits.until(what, "start", missing, [node], left)
        started, again = since(began), time.monotonic()
        if stage_of(now).has(Alarm.STRANDED):
            # No metadata reaches the others before they are restarted, too: those that should lead
            # by the log do not know, so nobody comes in sync with them.
            return {"start_seconds": started}
        what = f"broker {node} is in sync"
        watch = IsrWatch(tools.config.cluster, tools.waits.tell, node)
        tools.waits.until(what, "in_sync", watch.missing, [node], left)
        return {
            "start_seconds": started,
            "in_sync_seconds": since(again),
            "new_leader_epochs": watch.renewed,
        }

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that change the broker's properties and recreate its pod.

        Before ZooKeeper mode the copy of the metadata log is removed while the pod is held back.
        """
        wanted = self.required(book.config, book.seen)
        properties = book.properties(self.node, wanted, f"broker-{self.node}-{self.mode}-mode.yaml")
        lines: list[str] = []
        if self.mode is BrokerMode.ZOOKEEPER:
            lines, held = book.hold((self.node,), held)
            folder = PurePosixPath(metadata_dir(book.seen.brokers[self.node].properties))
            gone = shlex.quote(str(folder / METADATA_LOG))
            lines.append(book.inside(self.node, f"rm -rf -- {gone}"))
        lines.append(book.patch_properties(properties, self.node))
        again, held = book.release((self.node,), held)
        return [*lines, *again], held


def _require_ways(tools: Tools, seen: Observation, node: NodeId) -> None:
    """Look whether a broker's host reaches the controllers that run, before it is restarted.

    Raises:
        StepRefusedError: It does not, so the broker could not register. A host that does not tell
            what it reaches is taken as one that does.
    """
    running = [
        each.address
        for each in tools.config.controllers.nodes
        if (there := seen.controllers.get(NodeId(each.id))) is not None and there.running
    ]
    told = ask_host(tools.drivers[node], running)
    reach = told.reach if told is not None else {}
    bad = {at: reach[at] for at in running if reach.get(at, Reach.OPEN) is not Reach.OPEN}
    if bad:
        named = ", ".join(f"{at} ({found})" for at, found in bad.items())
        why = f"the host of broker {node} does not reach the controllers {named}"
        raise StepRefusedError("RollBroker", why)


def _properties(seen: Observation, node: NodeId) -> dict[str, str]:
    there = seen.brokers.get(node)
    if there is None or not there.properties:
        raise StepRefusedError("RollBroker", f"the files of broker {node} could not be read")
    return dict(there.properties)


def _epoch(seen: Observation, node: NodeId) -> int | None:
    known = seen.log.brokers.get(node) if seen.log else None
    return known.epoch if known is not None else None


def _forgotten(tools: Tools, node: NodeId, mode: BrokerMode) -> None:
    """Wait until ZooKeeper has ended the session: else a broker ends as it starts (NodeExists).

    After a kill that takes the whole session timeout. In KRaft mode no broker has a session, and
    behind a finalize ZooKeeper may be gone.
    """
    if mode is BrokerMode.KRAFT and tools.waits.now().zookeeper is None:
        return
    what = f"ZooKeeper has ended the session of broker {node}"
    tools.waits.until(what, "start", lambda seen: not_gone(seen, node), left=None)


def _remove_metadata_log(tools: Tools, node: NodeId, wanted: Mapping[str, str]) -> None:
    """Remove the copy of the metadata log that other modes leave.

    In a later KRaft mode it would not fit to the log of controllers that were formatted anew.
    """
    tools.drivers[node].remove(str(PurePosixPath(metadata_dir(wanted)) / METADATA_LOG))
