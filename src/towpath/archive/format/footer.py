"""Footers of segment objects: the metadata of each segment in an object.

An object can be read, checked and put back into a commit log by its footer alone. It is text in
JSON, among the key/values of a Parquet file, so that other programs can read it, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.gaps import Gaps
from towpath.archive.model import STREAMING, PartitionId, Segment, SegmentPlace
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.wire.aborted import Aborted

VERSION = 1
"""Version of the format that this program writes. It reads this one and all older ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentHead:
    """The facts about a segment that are known before its first record.

    Attributes:
        cluster: Id of the source cluster.
        topic_id: Id of the topic.
        topic: Its name, which is a label only.
        partition: Number of the partition.
        level: `STREAMING`, or the level of the compaction that writes it.
        start: First offset of the range.
    """

    cluster: ClusterId
    topic_id: TopicId
    topic: TopicName
    partition: int
    level: int = STREAMING
    start: SourceOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPart:
    """A part of a segment that can be read alone: a row group, or a run of whole batches.

    Attributes:
        first: Offset of its first record.
        last: Offset of its last record.
        digest: Digest of its records, with their timestamps.
        size: Its bytes in the object.
        hash: xxh3 of 64 bits of these bytes, which tells whether the object is damaged.
        at: Position of its first byte in the object.
        min_time: Lowest timestamp in ms; None if no record has one.
        max_time: Highest timestamp in ms.
        aborted: Producer id and first offset of each aborted transaction among its batches, as if
            it were a fetch response; empty for a row group, which has no aborted records.
    """

    first: SourceOffset
    last: SourceOffset
    digest: Digest
    size: int
    hash: int
    at: int
    min_time: int | None
    max_time: int | None
    aborted: Aborted = ()

    @property
    def records(self) -> int:
        """Number of records in the part."""
        return self.digest.records


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFooter:
    """The metadata of one segment in an object's footer; `Segment` documents most fields.

    Attributes:
        head: What was known before the first record.
        end: End of the range, exclusive.
        raw_bytes: Bytes of keys, values and headers plus 16 for each record.
        digest: Digest of the records, with their timestamps.
        gaps: The offsets without a record.
        parts: Row groups of the segment, or stretches of whole batches, in order.
        first_row_group: The number of its first row group in the object; 0 for whole batches.
        created: When the segment was written, in ms.
    """

    head: SegmentHead
    end: SourceOffset
    raw_bytes: int
    digest: Digest
    gaps: Gaps
    parts: tuple[SegmentPart, ...]
    first_row_group: int = 0
    created: int

    @property
    def times(self) -> tuple[int, int] | None:
        """Lowest and highest timestamp in ms; None if no record has one."""
        lows = [part.min_time for part in self.parts if part.min_time is not None]
        highs = [part.max_time for part in self.parts if part.max_time is not None]
        return (min(lows), max(highs)) if lows and highs else None

    def segment(self, kind: SegmentFormat, place: SegmentPlace | None) -> Segment:
        """Return the segment as the commit log lists it.

        Args:
            kind: The format of the object.
            place: Where the object is; None for a segment of gaps alone, which needs none.
        """
        head, times = self.head, self.times
        return Segment(
            cluster=head.cluster,
            topic_id=head.topic_id,
            topic=head.topic,
            partition=head.partition,
            level=head.level,
            start=head.start,
            end=self.end,
            raw_bytes=self.raw_bytes,
            first=self.parts[0].first if self.parts else None,
            last=self.parts[-1].last if self.parts else None,
            min_time=times[0] if times else None,
            max_time=times[1] if times else None,
            digest=self.digest,
            gaps=self.gaps.counts(),
            format=kind,
            place=place,
            created=self.created,
        )

    def require_holds(self, segment: Segment, name: str) -> None:
        """Raise if the footer does not describe the segment in the commit log; levels may differ.

        Args:
            segment: The segment as the commit log has it.
            name: The object, for the error.

        Raises:
            CorruptSegmentError: It is another one.
        """
        found = self.segment(segment.format, segment.place)
        if _held(found) != _held(segment):
            raise CorruptSegmentError(
                name, f"it holds {found.id}, and the commit log names {segment.id}"
            )

    def told(self) -> dict[str, Any]:
        """Return the footer as values for JSON."""
        return {
            **asdict(self.head),
            "end": self.end,
            "raw_bytes": self.raw_bytes,
            "digest": _digest_told(self.digest),
            "gaps": self.gaps.packed(),
            "parts": [_numbers(part) for part in self.parts],
            "first_row_group": self.first_row_group,
            "created": self.created,
        }

    @classmethod
    def read(cls, told: dict[str, Any]) -> SegmentFooter:
        """Parse the values that `told` returned.

        Raises:
            ValueError: A field is missing, or has an impossible value.
        """
        try:
            head = {name: told[name] for name in SegmentHead.__slots__}
            made = cls(
                head=SegmentHead(**head),
                end=SourceOffset(int(told["end"])),
                raw_bytes=int(told["raw_bytes"]),
                digest=_digest(told["digest"]),
                gaps=Gaps.unpacked(told["gaps"]),
                parts=tuple(_part(numbers) for numbers in told["parts"]),
                first_row_group=int(told["first_row_group"]),
                created=int(told["created"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError("a field of it is missing, or of another kind") from error
        nowhere = SegmentPlace(key="", size=0) if made.parts else None
        if reduce(Digest.then, (part.digest for part in made.parts), Digest()) != made.digest:
            raise ValueError("the digests of its parts do not add up")
        if problem := made.segment(SegmentFormat.PARQUET, nowhere).problem:
            raise ValueError(problem)
        return made


def _held(segment: Segment) -> tuple[PartitionId, SourceOffset, SourceOffset, Digest]:
    return segment.partition_id, segment.start, segment.end, segment.digest


def write_footers(footers: Iterable[SegmentFooter]) -> str:
    """Encode the footers of all segments of an object as text."""
    return json.dumps([footer.told() for footer in footers], separators=(",", ":"))


def read_footers(text: str) -> tuple[SegmentFooter, ...]:
    """Parse the text that `write_footers` returned.

    Raises:
        ValueError: The text is not that of footers.
    """
    return tuple(SegmentFooter.read(each) for each in json.loads(text))


def _digest_told(digest: Digest) -> list[Any]:
    # JSON numbers beyond 2^53 lose digits in many programs.
    return [digest.records, str(digest.unordered), str(digest.ordered)]


def _digest(told: list[Any]) -> Digest:
    records, unordered, ordered = told
    return Digest(int(records), int(unordered), int(ordered))


def _numbers(part: SegmentPart) -> list[Any]:
    return [
        part.first,
        part.last,
        _digest_told(part.digest),
        part.size,
        str(part.hash),
        part.at,
        part.min_time,
        part.max_time,
        *([[list(pair) for pair in part.aborted]] if part.aborted else []),
    ]


def _part(numbers: list[Any]) -> SegmentPart:
    first, last, digest, size, hashed, at, low, high, *rest = numbers
    return SegmentPart(
        first=first,
        last=last,
        digest=_digest(digest),
        size=size,
        hash=int(hashed),
        at=at,
        min_time=low,
        max_time=high,
        aborted=tuple((producer, offset) for producer, offset in rest[0]) if rest else (),
    )


def place_of(
    footer: SegmentFooter, kind: SegmentFormat, place: SegmentPlace | None
) -> SegmentPlace | None:
    """Return the location of a segment in a new object; `None` for a segment without records."""
    if place is None or not footer.parts:
        return None
    return SegmentPlace(
        key=place.key,
        size=place.size,
        first_row_group=footer.first_row_group,
        row_groups=len(footer.parts) if kind is SegmentFormat.PARQUET else 0,
        storage_class=place.storage_class,
        crc=place.crc,
    )
