"""The step that raises `/controller_epoch` in ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.facts.seen import Observation
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class RaiseControllerEpoch(KraftStep):
    """Raise `/controller_epoch`, so that no broker's election is refused as outdated.

    Attributes:
        to: The new epoch.
        version: Version of the znode that was seen; another refuses the write.
    """

    to: int
    version: int

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return f"raise ZooKeeper's /controller_epoch to {self.to}"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation with the new controller epoch in ZooKeeper."""
        del config
        zookeeper = seen.zookeeper
        raised = (self.to, self.version + 1)
        yield (
            seen
            if zookeeper is None
            else replace(seen, zookeeper=replace(zookeeper, controller_epoch=raised))
        )

    def do(self, tools: Tools) -> StepFacts:
        """Write the new controller epoch."""
        tools.zookeeper.raise_epoch(self.to, self.version, tools.patience)
        return {"to": self.to}
