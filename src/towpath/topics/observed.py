"""Topics of both clusters as they were observed: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.cluster.metadata import TopicInfo
from towpath.model.findings import Note, Problem
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.topics.target_kinds import TargetKind, taken


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic of either side.

    Attributes:
        name: Its name.
        id: Its id, which a topic made again under the same name does not share.
        partitions: How many it has.
        replication_factor: That of its best replicated partition.
        own: Configs made on the topic itself.
        configs: All that hold for it; empty if we may not see them.
    """

    name: TopicName
    id: TopicId
    partitions: int
    replication_factor: int
    own: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A mirror topic that this link made of a topic which is not mirrored any more.

    Attributes:
        source: The topic.
        copy: Its mirror topic; configs are not looked at.
        gone: Whether the source no longer has it; else the file no longer asks for it.
    """

    source: TopicName
    copy: Topic
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTopics:
    """Both clusters as they were when looked at.

    Attributes:
        source: Topics of the source that match and can be looked at.
        names: The name that each of them has on the target.
        target: Topics of the target that have these names, and those that differ from one only
            by `.` and `_`.
        brokers: Number of the target's brokers, with those that it counts though they are down.
        one_cluster: Its id, where source and target are the same cluster.
        circular: Topics of that one cluster whose mirror topics match `topics.include` again.
        known: Topic configs that the target knows.
        kind: What the target is.
        defaults: What the target gives topics that say nothing, as far as it matters and told.
        default_replicas: The replication factor that it gives them, if told.
        request_bytes: The largest request that its brokers take, if told.
        orphans: Mirror topics of ours whose topics are surely not mirrored any more.
        unmatched: Names of other topics of the source, to help against typing errors.
        notes: What we could not see and can do without.
        problems: Why topics that match cannot be mirrored: those that are not among `source`, and
            those on which the login lacks a right.
    """

    source: tuple[Topic, ...]
    names: Mapping[TopicName, TopicName]
    target: Mapping[TopicName, Topic]
    brokers: int
    known: frozenset[str]
    kind: TargetKind = TargetKind.KAFKA
    one_cluster: ClusterId | None = None
    circular: frozenset[TopicName] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    default_replicas: int | None = None
    request_bytes: int | None = None
    orphans: tuple[Orphan, ...] = ()
    unmatched: tuple[TopicName, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def accepted(self) -> frozenset[str]:
        """Topic configs of the source that may be sent to the target."""
        return taken(self.kind, self.known)


@dataclass(frozen=True, slots=True)
class SourceTopics:
    """The topics of the source as they were when looked at.

    Attributes:
        listed: All of them.
        topics: Those that match and can be looked at.
        names: The names on the target of those that match.
        cluster: Its id.
        problems: Why topics that match cannot be mirrored.
    """

    listed: Mapping[TopicName, TopicInfo]
    topics: tuple[Topic, ...]
    names: Mapping[TopicName, TopicName]
    cluster: ClusterId
    problems: tuple[Problem, ...] = ()


def alike(name: str) -> str:
    """Return what Kafka's metrics make of a name: it allows no two topics with the same."""
    return name.replace(".", "_")
