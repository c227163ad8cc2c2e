"""The step that waits until ZooKeeper is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import Observation
from towpath.kraft.steps.elections import by_itself
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class AwaitCopy(KraftStep):
    """Wait until the controllers have copied ZooKeeper and write both stores."""

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        return "wait until the controllers have copied ZooKeeper"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation whose metadata log holds the copy of ZooKeeper."""
        del config
        yield by_itself(seen)

    def do(self, tools: Tools) -> StepFacts:
        """Wait for the copy of ZooKeeper."""
        return tools.wait("ZooKeeper is copied into the metadata log", "copy", _not_copied)


def _not_copied(seen: Observation) -> str | None:
    if seen.log is None or seen.zookeeper is None:
        return "the metadata log or ZooKeeper was not seen"
    if seen.log.copying:
        return "the copy is being written"
    if seen.log.state is not LogState.MIGRATION:
        migrating = sorted(each.id for each in seen.log.brokers.values() if each.migrating)
        return f"the metadata log says {seen.log.state}; registered are brokers {migrating}"
    znode = seen.zookeeper.migration
    return None if znode is not None and znode.offset >= 0 else "/migration is not written yet"
