"""Facts about a cluster that the control plane returns, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar
from uuid import UUID

from towpath.cluster.codes import UNKNOWN_TOPIC_OR_PARTITION, refused
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import (
    NO_TOPIC_ID,
    ClusterId,
    ProducerId,
    TopicId,
    TopicName,
    TopicPartition,
)

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Broker:
    """A broker as the cluster advertises it; `rack` is `None` if it has none, or was not told."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"broker {self.id} ({self.host}:{self.port})"


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition; `leader` is -1 without one, `epoch` is -1 if unknown.

    `in_sync` holds the ids of the replicas that are in sync.
    """

    partition: int
    leader: int
    replicas: tuple[int, ...]
    epoch: int = -1
    in_sync: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic; with an `error`, such as a missing ACL, it has no partitions."""

    name: TopicName
    id: TopicId
    internal: bool
    partitions: tuple[PartitionInfo, ...]
    error: RefusedError | None = None


def every_partition(topics: Mapping[TopicName, TopicInfo]) -> list[TopicPartition]:
    """Return all partitions of topics, as these stand."""
    return [
        TopicPartition(name, each.partition)
        for name, info in topics.items()
        for each in info.partitions
    ]


@dataclass(frozen=True, slots=True)
class ProducerState:
    """The leader's state of one producer; times in ms, -1 if unknown.

    Attributes:
        id: Its producer id; producers that are not idempotent have none and are not remembered.
        last_sequence: Sequence of its last record.
        last_timestamp: Time of its last record, as the producer set it.
        open_since: Offset at which its open transaction begins, -1 where there is none.
        epoch: Its producer epoch.
        coordinator_epoch: Coordinator epoch of its last marker, -1 where there is none.
    """

    id: ProducerId
    last_sequence: int
    last_timestamp: int
    open_since: int
    epoch: int = -1
    coordinator_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """The state of a transactional id, as its coordinator lists it (KIP-664)."""

    transactional_id: str
    state: str

    @property
    def is_ongoing(self) -> bool:
        """Whether its producer, or the coordinator after the timeout, is going to end it."""
        return self.state in _UNDER_WAY


@dataclass(frozen=True, slots=True)
class DescribedTransaction:
    """What the coordinator of a transactional id tells of it (KIP-664).

    Attributes:
        transactional_id: The transactional id.
        state: The state of its last transaction, in Kafka's words.
        timeout_ms: Milliseconds after which an open one is aborted.
        producer: The present producer id.
        epoch: The present epoch.
    """

    transactional_id: str
    state: str
    timeout_ms: int
    producer: ProducerId
    epoch: int

    @property
    def is_ongoing(self) -> bool:
        """Whether its producer, or the coordinator after the timeout, is going to end it."""
        return self.state in _UNDER_WAY


_UNDER_WAY = {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The content of one metadata response."""

    cluster_id: ClusterId
    controller: int
    brokers: Mapping[int, Broker]
    topics: Mapping[TopicName, TopicInfo]
    throttle_time_ms: int = 0

    def partition(self, tp: TopicPartition) -> PartitionInfo | None:
        """Return the facts about `tp`; partitions are numbered from 0 without a gap."""
        topic = self.topics.get(tp.topic)
        known = topic is not None and 0 <= tp.partition < len(topic.partitions)
        return topic.partitions[tp.partition] if topic and known else None

    def leader(self, tp: TopicPartition) -> Broker | None:
        """Return the leader of `tp`, `None` if there is none."""
        found = self.partition(tp)
        return self.brokers.get(found.leader) if found else None


class ConfigSource(IntEnum):
    """The origin of a config's value."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    FILE = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT = 7
    GROUP = 8


_SOURCES = {source.value: source for source in ConfigSource}
"""To be looked up: an enum is slow to call for each config of thousands of topics."""


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config; brokers do not return the value of a sensitive one."""

    value: str | None
    source: ConfigSource
    sensitive: bool = False
    read_only: bool = False


class Answers(dict[K, T]):
    """The answers by item; items without an answer are in `failed`, with the error."""

    def __init__(self, done: Mapping[K, T], failed: Mapping[K, ClusterError]) -> None:
        super().__init__(done)
        self.failed = failed

    def sure(self, about: K) -> T:
        """Return the answer about one item, or raise its error."""
        if about in self.failed:
            raise self.failed[about]
        return self[about]


def non_default(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    """Return the configs that were set on a topic itself, and can be copied to another."""
    return {
        name: entry.value
        for name, entry in entries.items()
        if entry.source is ConfigSource.TOPIC
        and entry.value is not None
        and not (entry.sensitive or entry.read_only)
    }


def read_metadata(side: str, answer: Any) -> Metadata:
    """Decode a metadata response; unknown topics are left out."""
    brokers = {b.node_id: Broker(b.node_id, b.host, b.port, b.rack) for b in answer.brokers}
    topics = [
        _topic(side, topic)
        for topic in answer.topics
        if topic.error_code != UNKNOWN_TOPIC_OR_PARTITION
    ]
    return Metadata(
        ClusterId(answer.cluster_id or ""),
        answer.controller_id,
        brokers,
        {topic.name: topic for topic in topics},
        answer.throttle_time_ms or 0,
    )


def _topic(side: str, topic: Any) -> TopicInfo:
    error = None
    if topic.error_code:
        error = refused(
            side,
            f"looking at topic {topic.name}",
            topic.error_code,
            acl=f"Describe on topic {topic.name}",
        )
    # Before version 10 there is no id: kafka-python then gives none, or zero.
    number = topic.topic_id
    known = isinstance(number, UUID) and number.int != 0
    return TopicInfo(
        TopicName(topic.name),
        TopicId(str(number)) if known else NO_TOPIC_ID,
        topic.is_internal,
        tuple(sorted(map(_partition, topic.partitions), key=lambda p: p.partition)),
        error,
    )


def _partition(said: Any) -> PartitionInfo:
    epoch = -1 if said.leader_epoch is None else said.leader_epoch
    return PartitionInfo(
        said.partition_index,
        said.leader_id,
        tuple(said.replica_nodes),
        epoch,
        tuple(said.isr_nodes),
    )


def read_configs(resource: Any) -> dict[str, ConfigEntry]:
    """Decode the configs in one result of a DescribeConfigsRequest."""
    return {
        entry.name: ConfigEntry(
            entry.value,
            _SOURCES.get(entry.config_source, ConfigSource.UNKNOWN),  # a newer broker has more
            entry.is_sensitive,
            entry.read_only,
        )
        for entry in resource.configs
    }
