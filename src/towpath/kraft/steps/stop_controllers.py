"""The step that stops controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.findings import several
from towpath.kraft.journal import KraftEvent
from towpath.kraft.reach.kubernetes.hand_book import HandBook, Held
from towpath.kraft.standing.alarms import holds_everything
from towpath.kraft.steps.foretell import stopped
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class StopControllers(KraftStep):
    """Stop controllers; they stay stopped until a step starts them.

    Contents are equal before all are stopped (`Proven.stopped`), as nothing can be compared behind
    it.

    Attributes:
        nodes: The controllers, in the order in which they are stopped.
    """

    nodes: tuple[NodeId, ...]

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return f"stop controllers {several(tuple(map(str, self.nodes)))}"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield observations of stopped controllers, one after the other."""
        del config
        epoch = _held_under(seen)
        if epoch is not None:
            seen = replace(seen, proven=replace(seen.proven, stopped=epoch))
        for node in self.nodes:
            seen = stopped(seen, seen.controllers[node])
            yield seen

    def proof(self, seen: Observation) -> tuple[KraftEvent, Mapping[str, object]] | None:
        """Return the epoch in which ZooKeeper held everything before the stop."""
        epoch = _held_under(seen)
        return None if epoch is None else (KraftEvent.STOPPED, {"epoch": epoch})

    def do(self, tools: Tools) -> StepFacts:
        """Stop the controllers one after the other."""
        return {str(node): dict(tools.stop(node)) for node in self.nodes}

    def by_hand(self, book: HandBook, held: Held) -> tuple[list[str], Held]:
        """Return commands that recreate the controllers' pods and hold them back."""
        return book.hold(self.nodes, held)


def _held_under(seen: Observation) -> int | None:
    """Return KRaft's epoch in `/controller` where ZooKeeper holds everything, else None."""
    controller = seen.zookeeper.controller if seen.zookeeper else None
    if controller is None or not holds_everything(seen):
        return None
    return controller.kraft_epoch
