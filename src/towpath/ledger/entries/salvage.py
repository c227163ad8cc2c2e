"""Ledger entries about records that one cluster alone had, where both were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.nouns import LinkName, ProducerId, Side, TopicName, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """The records that the losing cluster alone had of a partition, copied to a salvage topic.

    Attributes:
        topic: The source topic.
        partition: The partition.
        producer_id: The incarnation of the mirror partition.
        side: The cluster that alone had them. The other one has the salvage topic.
        first: The first offset there; `end`, the one behind the last.
        records: How many records lie there, all of which the salvage topic has.
        deleted: How many offsets from `first` on retention had deleted before.
        salvage_topic: The salvage topic; the records are in its partition of the same number.
        at: When, in ms since 1970.
    """

    kind: ClassVar[str] = "salvaged"

    link: LinkName
    topic: TopicName
    partition: int
    producer_id: ProducerId
    side: Side
    first: int
    end: int
    records: int
    deleted: int
    salvage_topic: TopicName
    at: int

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def winner(self) -> Side:
        """The cluster whose records stayed in the topic."""
        return self.side.other

    @property
    def place(self) -> TopicPartition:
        """The partition of the salvage topic."""
        return TopicPartition(self.salvage_topic, self.partition)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id, self.side.value, self.first)
