"""The step that raises the versions of partition states in ZooKeeper."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from towpath.kraft.config import KraftConfig
from towpath.kraft.do.tools import StepFacts, Tools, since
from towpath.kraft.facts.seen import Observation
from towpath.kraft.standing.partition_versions import lower_versions, with_versions
from towpath.kraft.steps.step import KraftStep
from towpath.model.amounts import counted


@dataclass(frozen=True, slots=True)
class RaisePartitionVersions(KraftStep):
    """Rewrite partition states in ZooKeeper until their versions match the log's epochs.

    A leader goes by the partition epoch of the metadata log, and skips what a broker that is
    controller decides under a lower version.

    Attributes:
        partitions: Number of partitions whose version is lower.
    """

    partitions: int

    @property
    def sentence(self) -> str:
        """The step as a sentence for people."""
        states = counted(self.partitions, "partition state")
        return f"raise the versions of {states} in ZooKeeper to those that leaders know"

    def effects(self, config: KraftConfig, seen: Observation) -> Iterator[Observation]:
        """Yield an observation whose partition states have the log's versions."""
        del config
        yield with_versions(seen, lower_versions(seen))

    def do(self, tools: Tools) -> StepFacts:
        """Rewrite the partition states whose versions are lower now."""
        began = time.monotonic()
        lower = lower_versions(tools.waits.now())
        writes = tools.zookeeper.raise_versions(lower, tools.patience)
        return {"partitions": len(lower), "writes": writes, "seconds": since(began)}
