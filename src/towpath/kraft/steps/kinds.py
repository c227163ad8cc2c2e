"""The steps of a migration, forwards and back, as plain values: what, on which node.

Each is safe to be done again, since an orchestrator may be killed in the middle of it: it is
planned from what is seen, and says nothing of what was done before.
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.kraft.facts.nouns import BrokerMode, NodeId


@dataclass(frozen=True, slots=True)
class FormatController:
    """Write a controller's properties and format its folder.

    Attributes:
        node: The controller.
        flag: Whether it gets the migration's flag.
        anew: Whether its disk was lost, and it gets the log from the others, who lead.
    """

    node: NodeId
    flag: bool = True
    anew: bool = False


@dataclass(frozen=True, slots=True)
class StartControllers:
    """Start all controllers and wait for their quorum: a member alone is not ready."""

    nodes: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class RollBroker:
    """Stop a broker, write its properties for a mode, start it, wait until it serves again.

    It serves when it is registered and not fenced where that mode registers, and all of its
    partitions are in sync.
    """

    node: NodeId
    mode: BrokerMode


@dataclass(frozen=True, slots=True)
class AwaitHealthy:
    """Wait until every broker that runs is registered and not fenced, and all are in sync.

    Nothing is restarted: an orchestrator that was killed behind a restart goes on with this.
    """


@dataclass(frozen=True, slots=True)
class AwaitCopy:
    """Wait until the controllers have copied ZooKeeper and write both: it happens by itself."""


@dataclass(frozen=True, slots=True)
class Compare:
    """Wait until ZooKeeper and the metadata log are equal, and a probe topic passes through.

    Behind a rollback, when a broker decides again and there is no log, only the probe topic is
    created and deleted. What was proven is observed later as `Proven.probed`.
    """


@dataclass(frozen=True, slots=True)
class RestartController:
    """Restart a controller with or without the migration's flag, and wait for it in the quorum.

    Attributes:
        node: The controller.
        flag: Whether it gets the flag.
        rewrite: Whether it is restarted, though nothing about it is to change, so that the next
            leader writes to ZooKeeper what this one has lost (`contents.quotas`).
    """

    node: NodeId
    flag: bool
    rewrite: bool = False


@dataclass(frozen=True, slots=True)
class AwaitFinal:
    """Wait until the metadata log says that the migration is over."""


@dataclass(frozen=True, slots=True)
class StopControllers:
    """Stop all controllers; they stay stopped until a step starts them.

    Contents are equal before it (`Proven.stopped`), as nothing can be compared behind it.
    """

    nodes: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class RaiseControllerEpoch:
    """Set `/controller_epoch`, so that no broker's election is refused as an old one.

    Attributes:
        to: The new epoch.
        version: Version of the znode that was seen; another refuses the write.
    """

    to: int
    version: int


@dataclass(frozen=True, slots=True)
class RaisePartitionVersions:
    """Write partition states in ZooKeeper again, until their versions are the log's epochs.

    A leader goes by the partition epoch of the metadata log, and skips what a broker that is
    controller decides under a lower version.

    Attributes:
        partitions: Number of partitions whose version is lower.
    """

    partitions: int


@dataclass(frozen=True, slots=True)
class ReleaseZooKeeper:
    """Delete `/controller` and `/migration` together, then wait for a broker as controller.

    Attributes:
        controller: Version of `/controller` that was seen; None where it stays.
        migration: Version of `/migration` that was seen; None where there is none.
    """

    controller: int | None
    migration: int | None


@dataclass(frozen=True, slots=True)
class MendMetaProperties:
    """Stop a broker, rewrite `meta.properties` of one of its log directories as version 0.

    The broker is left stopped: the next step for it starts it again.
    """

    node: NodeId
    directory: str


@dataclass(frozen=True, slots=True)
class WipeController:
    """Remove what a stopped controller of a withdrawn migration has stored."""

    node: NodeId


Step = (
    FormatController
    | StartControllers
    | RollBroker
    | AwaitHealthy
    | AwaitCopy
    | Compare
    | RestartController
    | AwaitFinal
    | StopControllers
    | RaiseControllerEpoch
    | RaisePartitionVersions
    | ReleaseZooKeeper
    | MendMetaProperties
    | WipeController
)
