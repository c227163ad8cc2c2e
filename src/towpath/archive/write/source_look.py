"""Observations of the source: its topics, and the log start and end of each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from towpath.archive.model import PartitionId
from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import KnownLeaders
from towpath.cluster.admin.offsets import EpochEnd
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import ClusterError
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.settings.sections.topics import TopicSelection

_PATIENCE = 5.0
"""Seconds for all leaders. Partitions without a leader are asked again with the next look."""
_BY_NAME = "name:"
"""What the ids begin with of topics that have none, as their broker is older than Kafka 2.8."""


@dataclass(frozen=True, slots=True)
class PartitionEnds:
    """The log start and end offsets of a partition.

    Attributes:
        log_start: Its log start offset.
        stable_end: Its last stable offset: that of its first open transaction, if there is one.
        high_watermark: Where its log ends; -1 if that is not known.
    """

    log_start: SourceOffset
    stable_end: SourceOffset
    high_watermark: SourceOffset = field(default=SourceOffset(-1), compare=False)

    @property
    def held(self) -> int:
        """Number of offsets above the last stable offset, held back by an open transaction."""
        return max(0, self.high_watermark - self.stable_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLook:
    """The state of the source at one moment.

    Attributes:
        cluster: The cluster id.
        topics: The topics that are archived, by their ids.
        ends: The ends of their partitions.
        failed: Why the ends of partitions are not known.
        hidden: Why topics could not be looked at, by name.
        epochs: Where the leader epochs ended that were asked about.
    """

    cluster: ClusterId
    topics: Mapping[TopicId, TopicInfo]
    ends: Mapping[PartitionId, PartitionEnds] = field(default_factory=dict)
    failed: Mapping[PartitionId, ClusterError] = field(default_factory=dict)
    hidden: Mapping[TopicName, ClusterError] = field(default_factory=dict)
    epochs: Mapping[PartitionId, EpochEnd] = field(default_factory=dict)


class SourceLooks:
    """Observes the source repeatedly.

    Args:
        source: The source.
        topics: Which topics are archived.
    """

    def __init__(self, source: Admin, topics: TopicSelection) -> None:
        self._source, self._topics = source, topics
        self._leaders = KnownLeaders()

    def look(self, epochs: Mapping[PartitionId, int] = MappingProxyType({})) -> SourceLook:
        """Observe the source now.

        Args:
            epochs: Leader epochs of partitions to ask about.

        Raises:
            ClusterError: The source could not be reached.
        """
        found = self._source.topics.with_brokers()
        taken = [info for info in found.topics.values() if self._topics.takes(info)]
        topics = {identity(info): info for info in taken if info.error is None}
        ids = {
            TopicPartition(info.name, each.partition): PartitionId(
                found.cluster_id, topic_id, each.partition
            )
            for topic_id, info in topics.items()
            for each in info.partitions
        }
        offsets = self._source.offsets
        # The start first: it never passes the end that is asked for later.
        starts = offsets.earliest(ids, patience=_PATIENCE, leaders=self._leaders)
        ends = offsets.latest(starts, committed=True, patience=_PATIENCE, leaders=self._leaders)
        marks = offsets.latest(ends, patience=_PATIENCE, leaders=self._leaders)
        failed = {**starts.failed, **ends.failed}
        asked = {tp: epochs[ids[tp]] for tp in ends if ids[tp] in epochs}
        said = offsets.epoch_answers(asked, patience=_PATIENCE, leaders=self._leaders)
        return SourceLook(
            cluster=found.cluster_id,
            topics=topics,
            ends={
                ids[tp]: PartitionEnds(
                    SourceOffset(starts[tp]), SourceOffset(end), SourceOffset(marks.get(tp, -1))
                )
                for tp, end in ends.items()
            },
            failed={ids[tp]: error for tp, error in failed.items()},
            hidden={info.name: info.error for info in taken if info.error is not None},
            epochs={ids[tp]: end for tp, end in said.items()},
        )


def identity(info: TopicInfo) -> TopicId:
    """Return the id of a topic; on brokers without topic ids, one made of the topic's name."""
    return info.id or TopicId(f"{_BY_NAME}{info.name}")


def held_sentence(topic: TopicName, partition: int, ends: PartitionEnds) -> str:
    """Return a sentence about a partition that an open transaction blocks."""
    return (
        f"{topic}-{partition}: a transaction is open since offset {ends.stable_end}, and"
        f" {ends.held} offsets from there on are archived when it ends; if it hangs,"
        " `kafka-transactions.sh find-hanging` and `abort` end it"
    )
