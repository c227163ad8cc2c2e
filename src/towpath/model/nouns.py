"""The basic values that every floor uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

TopicName = NewType("TopicName", str)
TopicId = NewType("TopicId", str)
ClusterId = NewType("ClusterId", str)
LinkName = NewType("LinkName", str)
NO_LINK = LinkName("")
ArchiveName = NewType("ArchiveName", str)
ProducerId = NewType("ProducerId", int)
SourceOffset = NewType("SourceOffset", int)
"""An offset of a source partition."""
TargetOffset = NewType("TargetOffset", int)
"""An offset of a target partition; in an identical one, that of the same record at the source."""

LEDGER = TopicName("__towpath_ledger")
"""The topic on the target that holds the ledger."""

EVENTS = TopicName("__towpath_events")
"""The topic on the target that holds the events: who did what, and when."""

QUARANTINE = TopicName("__towpath_quarantine")
"""The topic on the target that holds records which could not be changed or delivered."""

POSITIONS = TopicName("__towpath_positions")
"""How topics on the target begin that hold positions of links whose records go through Spark."""

NO_CLUSTER = ClusterId("")
"""The id of a cluster that is not known (yet)."""

NO_TOPIC_ID = TopicId("")
"""Recorded for topics of brokers without topic ids (before KIP-516, Kafka 2.8)."""


class Side(StrEnum):
    """The two clusters of a link, as errors name them."""

    SOURCE = "source"
    TARGET = "target"

    @property
    def other(self) -> Side:
        """The other cluster of the link."""
        return Side.TARGET if self is Side.SOURCE else Side.SOURCE


class Mode(StrEnum):
    """The relation between the offsets of a target partition and its source partition."""

    IDENTICAL = "identical"
    MAPPED = "mapped"


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: TopicName
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Detail(StrEnum):
    """The levels of detail at which metrics have a series of their own."""

    AUTO = "auto"
    """The finest level of detail that stays below the series limit."""
    PARTITION = "partition"
    TOPIC = "topic"
    LINK = "link"


class SegmentFormat(StrEnum):
    """The formats of segment objects."""

    PARQUET = "parquet"
    """Rows that anyone can query."""
    BATCHES = "batches"
    """Record batches as the broker keeps them."""
