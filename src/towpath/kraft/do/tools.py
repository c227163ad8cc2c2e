"""The tools that steps use: nodes, waits, journal, ZooKeeper, and file writes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.do.waiting import Missing, StepWaits
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.files.changes import changes
from towpath.kraft.journal import KraftJournal
from towpath.kraft.reach.driver import Driver
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline
from towpath.settings.java_properties import change_properties, read_properties

StepFacts = Mapping[str, object]
"""What a step tells of itself, as JSON has it: seconds by what they were spent on, and others."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a step uses.

    Attributes:
        config: The file.
        drivers: One for each node.
        waits: Looks at the cluster until something has come.
        journal: Keeps what steps replace.
        zookeeper: An open session.
    """

    config: KraftConfig
    drivers: Mapping[NodeId, Driver]
    waits: StepWaits
    journal: KraftJournal
    zookeeper: ZooKeeper

    def replace(self, node: NodeId, path: str, before: bytes, after: bytes) -> None:
        """Write a file of a node, after the journal has saved the old content."""
        if before and before != after:
            self.journal.keep(node, path, before)
        self.drivers[node].write(path, after)

    def write(self, node: NodeId, wanted: Mapping[str, str], *, whole: bool = False) -> bool:
        """Write a node's properties file unless it is already right; return whether it changed.

        Args:
            node: The node.
            wanted: All its keys and values.
            whole: Whether the file is ours as a whole; else its comments and order stay.
        """
        driver, path = self.drivers[node], self.path(node)
        data = driver.read(path) or b""
        change = changes(read_properties(data), wanted)
        if not change:
            return False
        made = change_properties(b"" if whole else data, wanted if whole else change)
        self.replace(node, path, data, made)
        return True

    def path(self, node: NodeId) -> str:
        """Return the path of a node's properties file."""
        nodes = (*self.config.brokers, *self.config.controllers.nodes)
        return next(each.properties for each in nodes if NodeId(each.id) == node)

    @property
    def patience(self) -> Deadline:
        """The deadline of a write to ZooKeeper that begins now."""
        return Deadline.after(self.config.limits.start)

    def wait(self, what: str, limit: str, missing: Missing) -> StepFacts:
        """Wait until nothing is missing; see `StepWaits.until`."""
        began = time.monotonic()
        self.waits.until(what, limit, missing)
        return {"seconds": since(began)}

    def stop(self, node: NodeId) -> StepFacts:
        """Stop a node's process; kill it after `limits.stop`."""
        began = time.monotonic()
        self.waits.tell(f"stopping node {node}")
        was_clean = self.drivers[node].stop(Deadline.after(self.config.limits.stop))
        return {"stop_seconds": since(began), "killed": not was_clean}


def since(began: float) -> float:
    """Return the seconds since a monotonic time, rounded for people."""
    return round(time.monotonic() - began, 3)
