"""The values that an archive is made of.

A **segment** says what the archive holds of one offset range of one partition. Ranges come from the
plan, never from the records that were found, and are half-open: [start, end). The offsets of the
records and the **gaps** of a segment cover its range exactly, so the ranges of a partition tile
without holes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.runtime.clock import now_ms

STREAMING = 0
"""The level of segments that come from Kafka; a compaction writes higher ones."""


class GapKind(StrEnum):
    """The reasons why an offset has no record."""

    MARKER = "marker"
    """The control record of a transaction."""
    ABORTED = "aborted"
    """A record of an aborted transaction."""
    COMPACTED = "compacted"
    """The source's log cleaner removed the record before it was read."""
    RETENTION = "retention"
    """The source deleted the record before it was read."""
    FILTERED = "filtered"
    """The file, or the protection against circles, leaves the record out."""
    ERASED = "erased"
    """`archive forget` removed the record."""
    LOST = "lost"
    """The archive held the record and cannot give it any more."""


@dataclass(frozen=True, slots=True, order=True)
class OffsetGap:
    """Offsets [first, end) that have no record, with the reason."""

    first: SourceOffset
    end: SourceOffset
    kind: GapKind

    def __len__(self) -> int:
        return self.end - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCounts:
    """Number of offsets without a record, by the kinds of `GapKind`."""

    marker: int = 0
    aborted: int = 0
    compacted: int = 0
    retention: int = 0
    filtered: int = 0
    erased: int = 0
    lost: int = 0

    @classmethod
    def of(cls, gaps: Iterable[OffsetGap]) -> GapCounts:
        """Count the offsets in gaps, by kind."""
        counts = dict.fromkeys(GapKind, 0)
        for gap in gaps:
            counts[gap.kind] += len(gap)
        return cls(**{kind.value: count for kind, count in counts.items()})

    def get(self, kind: GapKind) -> int:
        """Return the number of offsets of one kind."""
        count: int = getattr(self, kind.value)
        return count

    def then(self, other: GapCounts) -> GapCounts:
        """Return the sum of these counts and those of the range that follows."""
        return GapCounts(**{kind.value: self.get(kind) + other.get(kind) for kind in GapKind})

    @property
    def total(self) -> int:
        """Number of offsets without a record."""
        told = self.marker + self.aborted + self.compacted + self.retention
        return told + self.filtered + self.erased + self.lost


_HISTORY = "~"
"""Stands between the id of a topic and the number of a history; no id of a topic has it."""


class PartitionId(NamedTuple):
    """The identity of an archived partition. A deleted and recreated topic has a new identity.

    Where a source's log was cut below what is archived and went on with other records, these are
    archived as another **history** of the partition, with the number of the history behind the
    topic id: `ID~1`.
    """

    cluster: ClusterId
    topic_id: TopicId
    partition: int

    @property
    def history(self) -> int:
        """The number of the partition's history; 0 for the first one."""
        number = self.topic_id.rpartition(_HISTORY)[2] if _HISTORY in self.topic_id else ""
        return int(number) if number.isdigit() else 0

    @property
    def source(self) -> PartitionId:
        """The identity of the partition at the source, which is that of its first history."""
        return self.of_history(0) if _HISTORY in self.topic_id else self

    @property
    def later(self) -> PartitionId:
        """The identity of the partition's next history."""
        return self.of_history(self.history + 1)

    def of_history(self, number: int) -> PartitionId:
        """Return the identity of the partition with another history number."""
        topic = self.topic_id
        own = topic.rpartition(_HISTORY)[0] if self.history else topic
        return self._replace(topic_id=TopicId(f"{own}{_HISTORY}{number}" if number else own))

    def __str__(self) -> str:
        return f"{self.topic_id}-{self.partition} of cluster {self.cluster}"


def first_history(topic: TopicId) -> TopicId:
    """Return the source's topic id, given the topic id of any history."""
    return PartitionId(ClusterId(""), topic, 0).source.topic_id


class BatchMark(NamedTuple):
    """A fingerprint that distinguishes a batch from others with the same offsets.

    Attributes:
        base: Its base offset.
        last: Its last offset.
        epoch: The leader epoch that it was written in.
        crc: Its checksum, -1 where the log cleaner wrote the batch.
        records: How many records it has.
        producer: The producer id.
    """

    base: SourceOffset
    last: SourceOffset
    epoch: int
    crc: int
    records: int
    producer: int

    def contradicts(self, other: BatchMark) -> bool:
        """Return whether the two batches cannot have been in the same log.

        The log cleaner keeps the offsets, epochs and producer ids of batches. It takes records out
        of them, or notes in them when tombstones may go (Kafka's `MemoryRecords.filterTo`), and so
        changes the checksum.
        """
        if other.base > self.last or other.last < self.base:
            return False
        if (self.base, self.last, self.epoch, self.producer) != (
            other.base,
            other.last,
            other.epoch,
            other.producer,
        ):
            return True
        was_cleaned = self.records != other.records or -1 in {self.crc, other.crc}
        return self.crc != other.crc and not was_cleaned


class SegmentId(NamedTuple):
    """The identity of a segment: partition, level and offsets."""

    partition_id: PartitionId
    level: int
    start: SourceOffset
    end: SourceOffset

    def __str__(self) -> str:
        return f"[{self.start}, {self.end}) of {self.partition_id}, level {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlace:
    """The location of a segment's records in the store.

    Several segments may share one object; each has row groups of its own there.

    Attributes:
        key: The key of the object in the store.
        size: Size of the whole object, in bytes.
        first_row_group: The first row group of the segment; 0 for whole batches.
        row_groups: Number of its row groups; 0 for whole batches, which share no object.
        storage_class: The storage class it was written with; empty for the bucket's default.
        crc: CRC-32 of the whole object; None where who wrote it did not tell.
    """

    key: str
    size: int
    first_row_group: int = 0
    row_groups: int = 0
    storage_class: str = ""
    crc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The metadata of one segment: the archived offsets [start, end) of one partition.

    Attributes:
        cluster: Id of the source cluster.
        topic_id: Id of the topic.
        topic: Its name, which is a label only.
        partition: Number of the partition.
        level: `STREAMING`, or the level of the compaction that wrote it.
        start: First offset of the range.
        end: End of the range, exclusive.
        raw_bytes: Bytes of keys, values and headers plus 16 for each record, uncompressed.
        first: Offset of the first record; None without records.
        last: Offset of the last record; None without records.
        min_time: Lowest timestamp of a record, in ms; None where no record has one.
        max_time: Highest timestamp of a record, in ms; None where no record has one.
        digest: Digest of the records, with their timestamps.
        gaps: How many offsets have no record; the exact list is in the object's footer.
        format: How the object holds the records.
        place: Where the records are; None for a range of gaps alone, which needs no object.
        created: When the segment was written, in ms.
    """

    cluster: ClusterId
    topic_id: TopicId
    topic: TopicName
    partition: int
    level: int = STREAMING
    start: SourceOffset
    end: SourceOffset
    raw_bytes: int
    first: SourceOffset | None
    last: SourceOffset | None
    min_time: int | None
    max_time: int | None
    digest: Digest
    gaps: GapCounts = GapCounts()
    format: SegmentFormat = SegmentFormat.PARQUET
    place: SegmentPlace | None
    created: int

    @property
    def partition_id(self) -> PartitionId:
        """The identity of the partition."""
        return PartitionId(self.cluster, self.topic_id, self.partition)

    @property
    def id(self) -> SegmentId:
        """The identity of the segment, unique within any version of an archive."""
        return SegmentId(self.partition_id, self.level, self.start, self.end)

    @property
    def records(self) -> int:
        """Number of records."""
        return self.digest.records

    @property
    def problem(self) -> str | None:
        """The first inconsistency in the segment's metadata; `None` if there is none."""
        if not 0 <= self.start < self.end:
            return f"its range [{self.start}, {self.end}) is empty or negative"
        if self.records + self.gaps.total != self.end - self.start:
            return (
                f"{self.records} records and {self.gaps.total} offsets without one do not cover"
                f" [{self.start}, {self.end})"
            )
        if (self.records > 0) != (self.place is not None):
            return f"it has {self.records} records and {'an' if self.place else 'no'} object"
        return self._bounds_problem()

    def _bounds_problem(self) -> str | None:
        if self.first is None or self.last is None:
            is_right = self.records == 0 and self.first is None and self.last is None
            return None if is_right else "the offsets of its first and last record are not known"
        if self.records == 0 or not self.start <= self.first <= self.last < self.end:
            return f"its records [{self.first}, {self.last}] are not inside its range"
        return None


def gap_segment(partition: PartitionId, topic: TopicName, gap: OffsetGap) -> Segment:
    """Return a segment for offsets without a record, which needs no object."""
    return Segment(
        cluster=partition.cluster,
        topic_id=partition.topic_id,
        topic=topic,
        partition=partition.partition,
        start=gap.first,
        end=gap.end,
        raw_bytes=0,
        first=None,
        last=None,
        min_time=None,
        max_time=None,
        digest=Digest(),
        gaps=GapCounts.of([gap]),
        place=None,
        created=now_ms(),
    )
