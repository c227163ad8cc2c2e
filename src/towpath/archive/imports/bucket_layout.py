"""Keys of kafka-replicator's segments, and which of them make up a partition. Pure.

Its keys are `prefix/region/topic/partition/level/start-end`, both offsets inclusive and with 20
digits. A range is that of the records that were seen, so ranges have holes where the source had
none (a transaction marker between two segments); they overlap where a writer died between an upload
and its commit, and where a compaction was not followed by a deletion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from towpath.model.nouns import SourceOffset, TopicName

_KEY = re.compile(
    r"(?P<region>[^/]+)/(?P<topic>[^/]+)/(?P<partition>\d{1,9})/(?P<level>\d{1,9})/"
    r"(?P<first>\d{20})-(?P<last>\d{20})"
)
_MOST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatorObject:
    """A segment object of kafka-replicator.

    Attributes:
        region: The region that wrote it.
        topic: The topic.
        partition: Number of the partition.
        level: 0 if an egress worker wrote it, more if a compaction did.
        first: Offset of its first record.
        end: The offset behind its last record.
        key: Its key in the store.
        size: Its size in bytes.
    """

    region: str
    topic: TopicName
    partition: int
    level: int
    first: SourceOffset
    end: SourceOffset
    key: str
    size: int

    @classmethod
    def of(cls, key: str, size: int) -> ReplicatorObject | None:
        """Parse a key; return `None` if it is not the key of a segment."""
        found = _KEY.fullmatch(key)
        if found is None:
            return None
        first, last = int(found["first"]), int(found["last"])
        if last < first or last >= _MOST:
            return None
        return cls(
            region=found["region"],
            topic=TopicName(found["topic"]),
            partition=int(found["partition"]),
            level=int(found["level"]),
            first=SourceOffset(first),
            end=SourceOffset(last + 1),
            key=key,
            size=size,
        )


@dataclass(frozen=True, slots=True)
class ReplicatorPiece:
    """Offsets [start, end) of a partition, and the object with their records.

    Attributes:
        start: The first offset.
        end: The offset behind the last one.
        source: The object; None for a hole, which no object has.
    """

    start: SourceOffset
    end: SourceOffset
    source: ReplicatorObject | None


@dataclass(frozen=True, slots=True)
class PartitionPieces:
    """The ranges of a partition, each assigned to one object or to a hole.

    Attributes:
        pieces: They tile, from the first offset to the last.
        overlapping: Offsets that several objects have; each is taken from one of them.
        unused: Objects of which nothing is taken, as others have all of it.
    """

    pieces: tuple[ReplicatorPiece, ...]
    overlapping: int
    unused: int

    @property
    def holes(self) -> tuple[ReplicatorPiece, ...]:
        """Ranges of offsets that no object of the bucket has."""
        return tuple(each for each in self.pieces if each.source is None)


def pieces_of(objects: Iterable[ReplicatorObject]) -> PartitionPieces:
    """Return the pieces of a partition, made from its objects.

    Of objects that overlap, what was compacted most is taken first, and then what reaches farther:
    so most of a partition comes from the fewest objects.
    """
    left = sorted(objects, key=lambda each: (each.first, -each.level, -each.end))
    pieces: list[ReplicatorPiece] = []
    at = left[0].first if left else SourceOffset(0)
    used: set[str] = set()
    overlapping = 0
    for index, each in enumerate(left):
        if each.first > at:
            pieces.append(ReplicatorPiece(at, each.first, None))
            at = each.first
        else:
            overlapping += max(0, min(at, each.end) - each.first)
        if each.end <= at or _is_better(left[index + 1 :], each, at):
            continue
        pieces.append(ReplicatorPiece(at, each.end, each))
        used.add(each.key)
        at = each.end
    return PartitionPieces(tuple(pieces), overlapping, len(left) - len(used))


def _is_better(later: Iterable[ReplicatorObject], each: ReplicatorObject, at: SourceOffset) -> bool:
    """Whether one of the later objects has all that an object would add, at a higher level."""
    for other in later:
        if other.first > at:
            return False
        if other.end >= each.end and other.level > each.level:
            return True
    return False
