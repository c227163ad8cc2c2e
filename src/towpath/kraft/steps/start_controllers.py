"""The step that starts controllers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.quorum import await_quorum
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.do.waiting import Left
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.findings import several
from towpath.kraft.journal import KraftEvent
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.standing.alarms import may_lead_empty, without_log
from towpath.kraft.steps.elections import elected, with_node
from towpath.kraft.steps.foretell import controller_started
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class StartControllers(KraftStep):
    """Start controllers, and wait for their quorum, which a single member does not form.

    Attributes:
        nodes: The controllers.
    """

    nodes: tuple[NodeId, ...]

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return f"start controllers {several(tuple(map(str, self.nodes)))} and wait for their leader"

    @property
    def starts(self) -> tuple[NodeId, ...]:
        """The controllers that are started."""
        return self.nodes

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of running controllers, one after the other, then of a leader."""
        del config
        seen = replace(seen, proven=replace(seen.proven, stopped=None))
        for node in self.nodes:
            if not seen.controllers[node].running:
                seen = controller_started(seen, node)
                yield seen
        yield _fetched(elected(seen), self.nodes)

    def proof(self, seen: Observation) -> tuple[KraftEvent, Mapping[str, object]] | None:
        """Return the journal entry for started controllers."""
        del seen
        return KraftEvent.STARTED, {}

    def do(self, tools: Tools) -> StepFacts:
        """Start controllers, and wait until they are in their quorum.

        Raises:
            StepRefusedError: They would empty ZooKeeper.
        """
        began, before = time.monotonic(), tools.waits.now()
        _require_logs(before)
        for node in self.nodes:
            tools.drivers[node].start()
        named = ", ".join(map(str, self.nodes))
        left = f"controllers {named} were started"
        await_quorum(tools, self.nodes, lambda: left)
        empty = [node for node in self.nodes if before.controllers[node].epochs == ()]
        if before.quorum is not None and empty:
            _await_log(tools, empty, lambda: left)
        return {"start_seconds": since(began)}

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that recreate the controllers' pods without holding them back."""
        return book.release(self.nodes, held)


def _fetched(seen: Observation, nodes: tuple[NodeId, ...]) -> Observation:
    """Return what is seen once controllers have got the log from their leader."""
    if seen.quorum is None:
        return seen
    held = seen.controllers[seen.quorum.leader].epochs
    for node in nodes:
        if seen.controllers[node].epochs == ():
            seen = with_node(seen, replace(seen.controllers[node], epochs=held))
    return seen


def _require_logs(seen: Observation) -> None:
    """Raise where controllers were formatted anew since the step was planned."""
    if may_lead_empty(seen):
        lost = ", ".join(map(str, without_log(seen)))
        why = f"controllers {lost} lack the metadata log of which `/migration` tells"
        raise StepRefusedError("StartControllers", f"{why}, and would empty ZooKeeper")


def _await_log(tools: Tools, nodes: Iterable[NodeId], left: Left) -> None:
    """Wait until controllers that began without a log hold what was committed as this began."""
    nodes = tuple(nodes)
    wanted: int | None = None

    def missing(seen: Observation) -> str | None:
        nonlocal wanted
        if seen.quorum is None:
            return "nobody leads"
        wanted = seen.quorum.high_watermark if wanted is None else wanted
        ends = {node: seen.quorum.ends.get(node, -1) for node in nodes}
        for node, end in ends.items():
            if end < wanted or seen.controllers[node].epochs == ():
                return f"controller {node} has {max(end, 0)} of {wanted} records"
        return None

    named = ", ".join(map(str, nodes))
    tools.waits.until(f"controller {named} has got the log", "in_sync", missing, nodes, left)
