"""What is known of a source partition before its records are compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.compare.listed_rows import Allowed
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.model.nouns import TopicName, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofStand:
    """What is known of a source partition before its records are compared.

    Attributes:
        row: Its status.
        position: Its position, `None` if nothing was ever read.
        first: The source offset from which on records are made again, -1 if none are.
        since: The source offset from which on records are to be compared.
        earliest: Where the source begins, -1 if unknown.
        never: Why the query makes other records each time, "" if it does not.
        other_query: Whether its last records went through another query than that of the file.
        python: Whether the query calls Python.
        joins: Whether the query reads other data.
        source_compacts: Whether the source topic is compacted, or may be.
        target_compacts: The same for a mirror topic of the link.
        shortened: Target partitions that do not begin at offset 0.
        unsettled: Target partitions in which a transaction stays open.
        shared: Whether others may write to mirror topics.
        told: Whether what belongs to no partition is told with this one.
        mirrors: Mirror topics whose other writers are told with this partition.
        reached: Mirror topics that may have records of it.
    """

    row: PartitionStatus
    position: TransformedPosition | None
    first: int
    since: int
    earliest: int
    never: str = ""
    other_query: bool = False
    python: bool = False
    joins: bool = False
    source_compacts: bool = False
    target_compacts: bool = False
    shortened: frozenset[TopicPartition] = frozenset()
    unsettled: frozenset[TopicPartition] = frozenset()
    shared: bool = False
    told: bool = False
    mirrors: frozenset[TopicName] = frozenset()
    reached: frozenset[TopicName] = frozenset()

    @property
    def front(self) -> bool:
        """Whether the target may have records from before those that are made again."""
        return self.position is not None and self.first > self.position.first

    def allowed(self, tp: TopicPartition) -> Allowed:
        """Return why rows may be missing on one side, in a target partition."""
        return Allowed(self.front, tp in self.shortened, self.source_compacts, self.target_compacts)
