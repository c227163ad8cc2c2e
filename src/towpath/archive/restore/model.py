"""The topics, partitions and groups of a restore, as values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.archive.log.captures import GroupCapture
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.keyed_layout import KeyedLayout
from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.findings import Note, Problem
from towpath.model.nouns import ClusterId, SourceOffset, TopicName, TopicPartition
from towpath.topics.observed import Topic


@dataclass(frozen=True, slots=True)
class SegmentMarks:
    """The segments of a partition to restore: their end offsets and times.

    Attributes:
        ends: Where each ends, ascending.
        written: When each was written, in ms.
    """

    ends: Sequence[int] = ()
    written: Sequence[int] = ()

    def waiting(self, at: int) -> int:
        """Return the number of segments that have offsets from `at` on."""
        return len(self.ends) - bisect_right(self.ends, at)

    def oldest(self, at: int) -> int | None:
        """Return the time when the first segment with offsets from `at` on was written, in ms."""
        place = bisect_right(self.ends, at)
        return self.written[place] if place < len(self.written) else None

    def and_then(self, other: SegmentMarks) -> SegmentMarks:
        """Return these segments together with later ones."""
        return SegmentMarks([*self.ends, *other.ends], [*self.written, *other.written])


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePart:
    """One archived partition to restore.

    Attributes:
        id: Its identity in the archive.
        start: The first offset to restore.
        end: The offset behind the last one.
        records: Number of records.
        bytes: Bytes of keys, values and headers plus 16 for each record.
        oldest: The lowest timestamp, in ms; `None` where no record has one.
        newest: The highest timestamp, likewise.
        segments: Its segments; none where records are placed by their keys.
        filtered: Offsets of it that the archive left out, about, as a restore had written them.
        is_front: Whether it begins where the archive of it begins now, and not where the file
            says. Then what lies before was pruned.
    """

    id: PartitionId
    start: SourceOffset
    end: SourceOffset
    records: int = 0
    bytes: int = 0
    oldest: int | None = None
    newest: int | None = None
    filtered: int = 0
    segments: SegmentMarks = field(default_factory=SegmentMarks, compare=False, repr=False)
    is_front: bool = False

    def pruned(self, at: SourceOffset) -> bool:
        """Return whether offsets after this one were pruned before they were restored."""
        return self.is_front and at < self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTopic:
    """One archived topic to restore, as of the restored version.

    Attributes:
        topic: The topic as it was described when it was archived.
        cluster: The cluster that it was archived from.
        target: Its name on the target.
        parts: Its archived partitions, by number.
        described: Whether the archive has a description of it: configs, and number of partitions.
        asked: How many partitions the file gives it; `None` for as many as it had.
        change: Which of its records are left out.
        layout: How records are placed by their keys; `None` if they keep their partitions.
    """

    topic: Topic
    cluster: ClusterId
    target: TopicName
    parts: tuple[RestorePart, ...]
    described: bool = True
    asked: int | None = None
    change: RecordChange = NO_CHANGE
    layout: KeyedLayout | None = None

    @property
    def count(self) -> int:
        """Final number of partitions on the target."""
        return self.topic.partitions if self.asked is None else self.asked

    @property
    def written(self) -> tuple[RestorePart, ...]:
        """The parts written to each partition of the target.

        Of records that are placed by their keys, nobody knows how many go where before they are
        read, so each partition counts as much as any other.
        """
        layout = self.layout
        if layout is None:
            return self.parts
        times = [t for each in self.parts for t in (each.oldest, each.newest) if t is not None]
        share = RestorePart(
            id=layout.id_of(0),
            start=SourceOffset(0),
            end=layout.end,
            records=self.records // layout.count,
            bytes=self.bytes // layout.count,
            oldest=min(times, default=None),
            newest=max(times, default=None),
        )
        return tuple(replace(share, id=layout.id_of(n)) for n in range(layout.count))

    @property
    def by_partition(self) -> dict[TopicPartition, RestorePart]:
        """The parts written to each partition of the target, by partition."""
        return {TopicPartition(self.topic.name, each.id.partition): each for each in self.written}

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(each.records for each in self.parts)

    @property
    def filtered(self) -> int:
        """Number of offsets that the archive left out."""
        return sum(each.filtered for each in self.parts)

    @property
    def bytes(self) -> int:
        """Raw bytes of all records."""
        return sum(each.bytes for each in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreScope:
    """The topics and groups that a restore copies.

    Attributes:
        region: The region whose archive it is.
        version: The version of the archive's log, 0 for an archive without one.
        at: When that version was written, in ms.
        topics: The topics, by their archived names.
        groups: Groups that had offsets in these topics, by their archived names.
        awaiting: Those behind which another topic of the same name waits, which a restore that
            follows the archive begins once they are restored.
        notes: What a person should know about the archive.
        problems: What keeps topics from being restored.
    """

    region: str
    version: int
    at: int
    topics: Mapping[TopicName, RestoreTopic] = field(default_factory=dict)
    groups: Mapping[str, GroupCapture] = field(default_factory=dict)
    awaiting: frozenset[TopicName] = frozenset()
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
