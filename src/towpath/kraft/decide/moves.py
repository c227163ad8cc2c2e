"""Decisions of the planner: a move to a stage, a goal reached, or a refusal. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.decide.contents import check_contents
from towpath.kraft.facts.image import ClusterImage
from towpath.kraft.facts.nouns import NodeId, Stage
from towpath.kraft.facts.seen import NodeSeen, Observation, ZooKeeperSeen
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.standing.stages import StageType
from towpath.kraft.standing.states import KraftStanding, stage_of
from towpath.kraft.steps.step import KraftStep


@dataclass(frozen=True, slots=True)
class Reached:
    """The decision that the goal is reached, and nothing is left to do."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class Move:
    """The decision to do a step, with the stage that a legal move leads to."""

    step: KraftStep
    to: StageType


Decision = Move | Reached | Refused


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts for the planner: the file, an observation, and its stage.

    Attributes:
        leaders: Number of partitions that each broker leads; brokers with fewest go first.
        contents: What in the contents of the cluster a migration trips over.
        lost: Controllers whose disks are lost for good, as the user says: to be formatted anew.
    """

    config: KraftConfig
    seen: Observation
    standing: KraftStanding
    leaders: Mapping[NodeId, int]
    contents: tuple[Finding, ...]
    lost: frozenset[NodeId] = frozenset()

    @classmethod
    def of(
        cls, config: KraftConfig, seen: Observation, lost: frozenset[NodeId] = frozenset()
    ) -> Facts:
        """Return the facts of an observation."""
        found = check_contents(config, seen)
        return cls(config, seen, stage_of(seen), leaders_of(seen), found, lost)

    def at(self, seen: Observation) -> Facts:
        """Return the facts of another observation with the same contents."""
        return replace(self, seen=seen, standing=stage_of(seen))

    @property
    def brokers(self) -> tuple[NodeSeen, ...]:
        """All observed brokers of the file, in the order of their ids."""
        return _nodes(self.seen.brokers, (NodeId(each.id) for each in self.config.brokers))

    @property
    def controllers(self) -> tuple[NodeSeen, ...]:
        """All observed controllers of the file, in the order of their ids."""
        wanted = (NodeId(each.id) for each in self.config.controllers.nodes)
        return _nodes(self.seen.controllers, wanted)

    @property
    def zookeeper(self) -> ZooKeeperSeen:
        """The contents of ZooKeeper; the caller must have checked that they were read."""
        if self.seen.zookeeper is None:
            raise AssertionError("ZooKeeper was not read")
        return self.seen.zookeeper

    @property
    def leader(self) -> NodeId | None:
        """The controller that leads the quorum, `None` if there is none."""
        return self.seen.quorum.leader if self.seen.quorum else None


def _nodes(nodes: Mapping[NodeId, NodeSeen], wanted: Iterable[NodeId]) -> tuple[NodeSeen, ...]:
    return tuple(nodes[each] for each in sorted(wanted) if each in nodes)


def leaders_of(seen: Observation) -> Mapping[NodeId, int]:
    """Return the number of partitions that each broker leads, from the log or ZooKeeper."""
    image = seen.log.image if seen.log else seen.zookeeper.image if seen.zookeeper else None
    topics = (image or ClusterImage()).topics.values()
    return Counter(NodeId(each.leader) for topic in topics for each in topic.partitions.values())
