"""The topics of both clusters as observed: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.cluster.metadata import TopicInfo
from towpath.model.findings import Note, Problem
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.model.target_kinds import TargetKind, accepted_configs
from towpath.topics.foresight import Foresight


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of either cluster.

    Attributes:
        name: The name.
        id: The topic id; a topic that is created again under the same name gets another id.
        partitions: The number of partitions.
        replication_factor: The largest number of replicas of a partition.
        own: Configs set on the topic itself.
        configs: All configs in effect, with those of brokers by which no cleaner runs; empty if
            the login may not see them.
    """

    name: TopicName
    id: TopicId
    partitions: int
    replication_factor: int
    own: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A mirror topic of this link whose source topic is no longer mirrored.

    Attributes:
        source: The source topic.
        mirror: The mirror topic, without its configs.
        gone: Whether the source no longer has the topic; else the file no longer asks for it.
    """

    source: TopicName
    mirror: Topic
    gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTopics:
    """The topics of both clusters as observed.

    Attributes:
        source: Source topics that match and can be described.
        names: The name of each of them on the target.
        target: Topics of the target that have these names, or differ from one of them only by `.`
            and `_`.
        brokers: The number of brokers of the target, including registered ones that are down.
        one_cluster: The cluster id, if source and target are the same cluster.
        circular: Topics of that one cluster whose mirror topics match `topics.include` again.
        known: Topic configs that the target knows.
        kind: The kind of cluster that the target is.
        defaults: The target's defaults for topic configs, as far as they are needed and known.
        default_replicas: The target's default replication factor, if known.
        request_bytes: The largest request that the target's brokers accept, if known.
        release: The release of Kafka that the target runs, for messages.
        least: The least values that the target takes, where the source has less.
        orphans: Mirror topics of this link whose source topics are certainly no longer mirrored.
        begins: The first offsets of source partitions that came from the target up to there, as a
            link in the other direction was cut over. Copying begins there, wherever the file says.
        two_ways: Source topics that another link brings from the target, and whose records a header
            tells apart, so that both sides are written.
        foresights: What the target would delete without the limits that are held back, by source
            topic; none for topics from which nothing is held back.
        takes_empty_policy: Whether the target takes an empty `cleanup.policy`, which keeps all
            records, and still deletes records on request (KIP-1161, Kafka 4.2).
        unmatched: Names of the other source topics, for hints about typing errors.
        notes: What could not be observed and is not essential.
        problems: Why matching topics cannot be mirrored: they are not in `source`, or the login
            lacks a right on them.
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
    release: str = ""
    least: Mapping[str, int] = field(default_factory=dict)
    orphans: tuple[Orphan, ...] = ()
    begins: Mapping[TopicPartition, SourceOffset] = field(default_factory=dict)
    two_ways: frozenset[TopicName] = frozenset()
    foresights: Mapping[TopicName, Foresight] = field(default_factory=dict)
    takes_empty_policy: bool = True
    unmatched: tuple[TopicName, ...] = ()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def accepted(self) -> frozenset[str]:
        """Topic configs that the target accepts."""
        return accepted_configs(self.kind, self.known)


@dataclass(frozen=True, slots=True)
class SourceTopics:
    """The topics of the source as observed.

    Attributes:
        listed: All topics that the login may describe.
        topics: Topics that match and can be described.
        names: The names on the target of the matching topics.
        cluster: The cluster id.
        notes: What could not be observed and is not essential.
        problems: Why matching topics cannot be mirrored.
    """

    listed: Mapping[TopicName, TopicInfo]
    topics: tuple[Topic, ...]
    names: Mapping[TopicName, TopicName]
    cluster: ClusterId
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()


def name_in_metrics(name: str) -> str:
    """Return a name as in Kafka's metrics, where two topics must not share one."""
    return name.replace(".", "_")
