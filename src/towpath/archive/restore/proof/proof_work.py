"""The work and the result of a slice that compares a target with its archive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from pydantic import TypeAdapter

from towpath.archive.model import PartitionId, Segment
from towpath.ledger.producers import generations
from towpath.model.changes import NO_CHANGE, RecordChange, RecordOrigin
from towpath.model.digest import WORD, Digest
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TargetOffset, TopicPartition
from towpath.settings import ClusterConfig, StoreConfig


@dataclass(frozen=True, slots=True)
class SegmentCut:
    """A part of a segment that must be read, as the commit log has no digest of it.

    Attributes:
        segment: The segment.
        first: The first offset.
        end: The offset behind the last one.
    """

    segment: Segment
    first: SourceOffset
    end: SourceOffset


@dataclass(frozen=True, slots=True)
class BrokerLogCut:
    """A part of a broker's log whose batches must be read.

    Attributes:
        partition: The log.
        first: The first offset.
        end: The offset behind the last one.
    """

    partition: PartitionId
    first: SourceOffset
    end: SourceOffset


Archived = Digest | SegmentCut | BrokerLogCut
"""The digest of a whole segment, as the commit log has it, or what must be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRange:
    """Archived offsets [first, end) of a partition, and their target offsets.

    Attributes:
        tp: The archived partition; of records that are placed by their keys, that of the target.
        first: The first archived offset.
        end: The offset behind the last one.
        archived: What the archive holds of it, in order.
        target: The partition of the target, `None` where only the archive is read.
        target_first: The first offset on the target.
        target_end: The offset behind the last one there.
        ids: Generation 0 of the producer ids that the restore writes under.
        writers: Its other producer ids, which write in transactions.
        change: Which records the restore leaves out, and how it rewrites schema ids.
        origin: Where the records come from, as far as a change asks.
    """

    tp: TopicPartition
    first: SourceOffset
    end: SourceOffset
    archived: tuple[Archived, ...] = ()
    target: TopicPartition | None = None
    target_first: TargetOffset = TargetOffset(0)
    target_end: TargetOffset = TargetOffset(0)
    ids: frozenset[ProducerId] = frozenset()
    writers: frozenset[ProducerId] = frozenset()
    change: RecordChange = NO_CHANGE
    origin: RecordOrigin | None = None

    @property
    def producers(self) -> frozenset[ProducerId]:
        """All producer ids of the restore."""
        return generations(*self.ids) | self.writers


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofSlice:
    """The ranges that one task compares.

    Attributes:
        store: Where the archive is.
        region: The region, or the cluster of a broker's files.
        restore: The name of the restore, under which the ledger has what schema ids became.
        target: The target.
        ranges: The ranges.
    """

    store: StoreConfig
    region: str
    restore: LinkName
    target: ClusterConfig
    ranges: tuple[ProofRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRange:
    """The result of comparing one range.

    Attributes:
        tp: As of `ProofRange`, like `first`, `end`, `target_first` and `target_end`.
        archived: Digest of what the archive holds.
        restored: Digest of what the restore wrote, read back from the target.
        others: Records of others among them on the target.
        bytes: Bytes that were read from the target.
        why: Why it could not be compared, "" if it was.
    """

    tp: TopicPartition
    first: int
    end: int
    target_first: int = 0
    target_end: int = 0
    archived: Digest = field(default_factory=Digest)
    restored: Digest = field(default_factory=Digest)
    others: int = 0
    bytes: int = 0
    why: str = ""

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _compared.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> ComparedRange:
        """Return the result in the text of `to_json`."""
        return _compared.validate_json(text)


_compared = TypeAdapter(ComparedRange)


def in_order(digests: Iterable[Digest]) -> Digest:
    """Combine the digests of consecutive ranges."""
    return reduce(Digest.then, digests, Digest())


def in_any_order(digests: Iterable[Digest]) -> Digest:
    """Combine digests without regard to order; the result cannot prove the order of records."""
    found = [*digests]
    return Digest(
        sum(each.records for each in found), sum(each.unordered for each in found) % WORD, 0
    )
