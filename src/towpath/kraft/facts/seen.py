"""The observation of a cluster at one moment, which alone decides the next step.

Nothing here is remembered: an orchestrator that was killed sees the same again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.kraft.facts.image import ClusterImage, ImageComparison
from towpath.kraft.facts.nouns import BrokerMode, LogState, NodeId, Role
from towpath.kraft.facts.servers import EnsembleSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerZnode:
    """The znode `/controller`; `kraft_epoch` is -1 while a broker is the controller."""

    id: NodeId
    kraft_epoch: int
    ephemeral: bool
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationZnode:
    """The znode `/migration`; all of its numbers are -1 before the first copy.

    Attributes:
        is_null: Whether the znode has no content, which Kafka 3.9.1 cannot read.
    """

    controller: int = -1
    controller_epoch: int = -1
    offset: int = -1
    offset_epoch: int = -1
    version: int = 0
    is_null: bool = False


class Oddity(StrEnum):
    """The kinds of odd znodes."""

    FORBIDDEN = "forbidden"
    """Our login may not read it, so what it holds is not in the image."""
    UNKNOWN_FORM = "unknown_form"
    """Its name or content is of no known form: it is not in the image, the copy may fail at it."""
    NO_TOPIC_ID = "no_topic_id"
    """A topic without an id, at which the copy fails."""
    NO_STATE = "no_state"
    """A partition without a state: the copy takes all its replicas as in sync, and so do we."""
    ORPHAN_CONFIG = "orphan_config"
    """Configs of a topic that does not exist, which the copy leaves behind."""
    ENDS_BROKERS = "ends_brokers"
    """Brokers in ZooKeeper or migration mode end at it as they start (`zookeeper.at_start`)."""
    MAY_END_BROKERS = "may_end_brokers"
    """They do so where their hosts cannot resolve its name."""


@dataclass(frozen=True, slots=True, order=True)
class OddZnode:
    """A znode with unexpected content; `why` is for people, and holds no secret."""

    path: str
    oddity: Oddity
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSeen:
    """The contents of ZooKeeper at one moment.

    Attributes:
        controller_epoch: `/controller_epoch` and its znode version.
        brokers: Ids in `/brokers/ids`.
        reassigning: Partitions whose replicas are being moved, as `topic-0`.
        deleting: Topics in `/admin/delete_topics`; they are not in the image.
        awaited: Brokers for which the copy waits until they have registered: those with replicas,
            and those that have a znode in `/config/brokers`.
        odd: What is not in the image, or not as it stands in ZooKeeper, and why.
        still: Whether nothing was written to the ensemble while it was read, so that the image is
            that of one moment.
        writers: Who may write the znodes of topics, as `world:anyone` or `sasl:kafka`: controllers
            must be among them.
        seconds: How long it took to read everything.
    """

    cluster_id: str
    controller: ControllerZnode | None
    controller_epoch: tuple[int, int] | None
    migration: MigrationZnode | None
    brokers: frozenset[NodeId]
    image: ClusterImage
    reassigning: tuple[str, ...] = ()
    deleting: tuple[str, ...] = ()
    awaited: frozenset[NodeId] = frozenset()
    odd: tuple[OddZnode, ...] = ()
    still: bool = True
    writers: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSeen:
    """The controllers' quorum, as its leader describes it (DescribeQuorum).

    Attributes:
        ends: Where the logs of voters end that have fetched from the leader lately, and its own.
    """

    leader: NodeId
    epoch: int
    high_watermark: int
    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...] = ()
    ends: Mapping[NodeId, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker in the metadata log; `migrating` while it is not in KRaft mode."""

    id: NodeId
    epoch: int
    migrating: bool
    fenced: bool
    shutting_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRange:
    """Offsets of the metadata transaction that copied ZooKeeper into the log."""

    begin: int
    state: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogSeen:
    """The contents of the metadata log below its high watermark.

    Attributes:
        state: The newest ZkMigrationState record; None in a log without one.
        copying: Whether the transaction of the copy is open.
        copied: Where the copy lies; None before it, or where the log was deleted behind a
            snapshot.
        features: Finalized levels by name; `metadata.version` is 21 for 3.9.
        ready: Per controller, whether its registration has the migration's flag.
        voters: Those that the log names (a dynamic quorum, KIP-853); None where the controllers'
            files do.
        unread: How many records said something that has no place here, by what it was.
        unwritable: Names that ZooKeeper cannot hold (`contents.compare.unwritable_names`): those of
            ACLs as they are, others with what is called so.
        kraft_only: Configs of kinds that ZooKeeper does not have, as `client-metrics NAME`.
        deleted_users: SCRAM credentials that the log deletes; see `FindingCode.USERS_DELETED`.
    """

    state: LogState | None
    copying: bool
    copied: CopiedRange | None
    end: int
    features: Mapping[str, int]
    brokers: Mapping[NodeId, BrokerRegistration]
    ready: Mapping[NodeId, bool]
    image: ClusterImage
    voters: tuple[NodeId, ...] | None = None
    unread: Mapping[str, int] = field(default_factory=dict)
    unwritable: tuple[str, ...] = ()
    kraft_only: tuple[str, ...] = ()
    deleted_users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The `meta.properties` of a log directory; ZooKeeper mode can read version 0 only."""

    directory: str
    version: int
    cluster_id: str
    node: NodeId
    directory_id: str | None


FLAG = "zookeeper.metadata.migration.enable"
"""The migration's flag in a properties file."""


def has_flag(properties: Mapping[str, str]) -> bool:
    """Return whether a properties file has the migration's flag."""
    return properties.get(FLAG, "").strip().lower() == "true"


def mode_of(properties: Mapping[str, str]) -> BrokerMode | None:
    """Return the mode in which a properties file starts a broker; `None` for an empty file."""
    if not properties:
        return None
    if properties.get("process.roles", "").strip():
        return BrokerMode.KRAFT
    return BrokerMode.MIGRATION if has_flag(properties) else BrokerMode.ZOOKEEPER


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """The observed state of one broker or controller.

    Attributes:
        running: Whether its process runs, as its driver says.
        mode: How a broker runs that answers (by the requests that it offers); None for
            controllers and brokers that do not answer.
        flag: Whether it tells the migration's flag (ApiVersions, tag 3); None without an answer.
        properties: What its file says now; empty where there is none.
        stale: Whether its file was written after its process was started, so it runs with another.
        meta: Of all its log directories that have one.
        features: Finalized levels that it tells, by name.
        software: Its release, such as "3.9", as far as its answers tell it.
        build: Its version with the patch level, such as "3.9.2", as far as its host tells it.
        heap: The largest heap of its process in bytes, as far as its host tells it.
        arguments: What Kafka was started with: its properties file and what overrides that, as far
            as its host tells them.
        variables: Names of its process's variables from which images make properties files.
        free_bytes: Space left where it keeps its metadata.
        client_ports: What its kernel gives to connections of clients; None where it does not tell.
        elsewhere: Whether it answers though its driver says that it does not run.
        epochs: Of a formatted controller: the leader epochs that its metadata log holds, each with
            its first offset; empty without a log; None where its host does not tell.
        written: The mode in which its file would start a broker; None where it has no file.
    """

    id: NodeId
    role: Role
    running: bool
    mode: BrokerMode | None
    flag: bool | None
    properties: Mapping[str, str] = field(repr=False)
    stale: bool = False
    meta: tuple[MetaProperties, ...] = ()
    features: Mapping[str, int] = field(default_factory=dict)
    software: str | None = None
    build: str | None = None
    heap: int | None = None
    arguments: tuple[str, ...] | None = None
    variables: tuple[str, ...] = ()
    free_bytes: int | None = None
    client_ports: range | None = None
    elsewhere: bool = False
    epochs: tuple[tuple[int, int], ...] | None = None
    written: BrokerMode | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Asked for thousands of times by an outline of many brokers, so it is worked out once.
        object.__setattr__(self, "written", mode_of(self.properties))


@dataclass(frozen=True, slots=True)
class Health:
    """Partitions that a restart now would hurt, as `topic-0`."""

    offline: tuple[str, ...] = ()
    under_replicated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """The cluster as its brokers describe it.

    Attributes:
        id: The id of the cluster, "" where nobody told.
        lost_dirs: Log directories that brokers have lost: one of them stops a broker in migration
            mode.
        why: Why nobody could tell the directories, "" where all told.
    """

    id: str = ""
    lost_dirs: Mapping[NodeId, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A node or store that could not be observed, with the error."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """Facts proven by earlier steps, which the journal keeps.

    A journal that was lost costs time, no safety: what is not proven is done again. A migration
    that begins again has proven nothing, as the epochs of its quorum begin at 1 again.

    Attributes:
        probed: Under which epoch a probe topic passed last: the epoch of the quorum
            (`QuorumSeen.epoch`), or `/controller_epoch` where a broker decided.
        stopped: `/controller`'s KRaft epoch when we last stopped all controllers, if the
            contents were equal right before, or nothing had been copied yet
            (`alarms.holds_everything`); None once controllers are started, or seen to lead.
        equal_since: From when on both stores were written, and equal each time that they were
            compared, in ms since 1970; None where the last comparison was not.
        finalizing: Whether a finalize of ours began behind its gate (`gate_finalize`), and no stage
            before was seen since.
        final: Whether the metadata log told that the migration is over, when a log was read last.
    """

    probed: int | None = None
    stopped: int | None = None
    equal_since: int | None = None
    finalizing: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that one observation of a cluster found.

    Attributes:
        at: Time in ms since 1970.
        comparison: Of ZooKeeper with the log; None where one of them was not read.
        proven: What the journal says of earlier steps.
        ensemble: The servers of ZooKeeper; None where nobody could be asked.
        cluster: What brokers tell of their cluster; None while not all of them answer.
    """

    at: int
    zookeeper: ZooKeeperSeen | None
    quorum: QuorumSeen | None
    log: MetadataLogSeen | None
    brokers: Mapping[NodeId, NodeSeen]
    controllers: Mapping[NodeId, NodeSeen]
    health: Health | None
    comparison: ImageComparison | None = None
    unseen: tuple[Unseen, ...] = ()
    proven: Proven = Proven()
    ensemble: EnsembleSeen | None = None
    cluster: ClusterSeen | None = None
