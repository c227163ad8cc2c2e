"""The segments that a query reads, as frozen values that pickle, and their rows.

A query reads exactly the segments that the commit log names, each up to where it was archived as of
the version that is read. So objects that nobody committed, or that a compaction has replaced and
nobody deleted so far, double nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from typing import Any

import pyarrow as pa

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import SegmentObjectReader, read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.schema import ARCHIVED, OFFSET, PARTITION, TIMESTAMP
from towpath.archive.format.wanted import ALL, Wanted
from towpath.archive.model import Segment, SegmentId
from towpath.engine.bounds import ColumnBound, Relation
from towpath.model.nouns import SegmentFormat, TopicName
from towpath.model.portions import portions
from towpath.settings import StoreConfig
from towpath.store import Store

TOPIC = "topic"
"""The column with the name of the topic, of a table of several topics."""
_TASK = 256 << 20
"""Approximate bytes of records that one task reads."""
_FIXED = 256 << 10
"""What opening an object costs, in bytes of records."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedSegment:
    """A segment, or a part of its offsets, that a query reads.

    Attributes:
        topic: The name of the topic.
        id: The segment.
        format: How its object holds records.
        key: The key of the object.
        row_group: The first row group of the segment.
        wanted: The records that are read.
        weight: Bytes of these records, about.
        times: Lowest and highest timestamp in ms; None if no record has one.
    """

    topic: TopicName
    id: SegmentId
    format: SegmentFormat
    key: str
    row_group: int
    wanted: Wanted
    weight: int
    times: tuple[int, int] | None

    @classmethod
    def of(cls, segment: Segment, first: int, end: int) -> ScannedSegment | None:
        """Return the part of a segment to read; `None` if it has no record in [first, end)."""
        place = segment.place
        if place is None or segment.first is None or segment.last is None:
            return None
        if segment.last < first or segment.first >= end:
            return None
        low, high = segment.min_time, segment.max_time
        return cls(
            topic=segment.topic,
            id=segment.id,
            format=segment.format,
            key=place.key,
            row_group=place.first_row_group,
            wanted=Wanted(max(first, segment.first), min(end, segment.last + 1)),
            weight=segment.raw_bytes + _FIXED,
            times=None if low is None or high is None else (low, high),
        )


@dataclass(frozen=True, slots=True)
class ArchiveScan:
    """The segments of a table in order, split into parts for Spark's tasks."""

    segments: tuple[ScannedSegment, ...]

    def __call__(self, bounds: Sequence[ColumnBound]) -> list[tuple[ScannedSegment, ...]]:
        """Return what each task reads; what cannot meet the bounds is left out."""
        limits = _Limits.of(bounds)
        segments = filter(None, map(limits.applied, self.segments))
        parts = chain.from_iterable(map(_split, segments))
        return [*portions(parts, lambda each: each.weight, _TASK)]


@dataclass(frozen=True, slots=True)
class ArchiveRows:
    """Reads selected columns of the rows of one part.

    Attributes:
        store: Where the archive is.
        columns: Names of the columns of `ARCHIVED`, or `TOPIC`.
    """

    store: StoreConfig
    columns: tuple[str, ...]

    def __call__(self, part: Sequence[ScannedSegment]) -> Iterator[pa.RecordBatch]:
        """Yield the rows.

        Raises:
            CorruptSegmentError: An object is damaged, or is not what the commit log names.
            StoreError: The store does not have an object, or does not give it.
        """
        names = [name for name in self.columns if name != TOPIC]
        with Store(self.store, begun=True) as store:
            reader: SegmentObjectReader | None = None
            try:
                for segment in part:
                    if reader is None or reader.name != segment.key:
                        if reader is not None:
                            reader.close()
                        reader = read_object(segment.format, store.reader(segment.key), segment.key)
                    footer = _footer(reader, segment)
                    for rows in reader.rows(footer, segment.wanted, names):
                        yield self._with_topic(rows, segment.topic)
            finally:
                if reader is not None:
                    reader.close()

    def _with_topic(self, rows: pa.RecordBatch, topic: TopicName) -> pa.RecordBatch:
        """Return rows with the columns that are asked for, in their order."""
        if TOPIC not in self.columns:
            return rows.select(list(self.columns))
        named = pa.repeat(pa.scalar(topic), len(rows))
        columns = [named if name == TOPIC else rows.column(name) for name in self.columns]
        return pa.RecordBatch.from_arrays(columns, list(self.columns))


def _footer(reader: SegmentObjectReader, segment: ScannedSegment) -> SegmentFooter:
    footer = reader.segment(segment.row_group)
    found = footer.segment(segment.format, None).id
    if found.partition_id != segment.id.partition_id or found[2:] != segment.id[2:]:
        raise CorruptSegmentError(
            reader.name, f"it holds {found}, and the commit log names {segment.id}"
        )
    return footer


def _split(segment: ScannedSegment) -> list[ScannedSegment]:
    """Return a large segment as ranges of offsets that several tasks read."""
    wanted = segment.wanted
    count = min(-(-segment.weight // _TASK), wanted.end - wanted.first)
    if count <= 1 or segment.format is SegmentFormat.BATCHES:
        return [segment]
    length = wanted.end - wanted.first
    bounds = [wanted.first + length * number // count for number in range(count + 1)]
    return [
        replace(
            segment,
            wanted=replace(wanted, first=first, end=end),
            weight=segment.weight // count,
        )
        for first, end in pairwise(bounds)
    ]


@dataclass(slots=True)
class _Limits:
    """The bounds of a query on partitions, topics, offsets and times.

    Times are limits of whole milliseconds around what is asked for.
    """

    partitions: frozenset[int] | None = None
    topics: frozenset[str] | None = None
    wanted: Wanted = ALL

    @classmethod
    def of(cls, bounds: Sequence[ColumnBound]) -> _Limits:
        made = cls()
        for each in bounds:
            made._take(each)
        return made

    def applied(self, segment: ScannedSegment) -> ScannedSegment | None:
        """Apply the query's limits to a segment; return `None` if nothing is left to read."""
        if self.partitions is not None and segment.id.partition_id.partition not in self.partitions:
            return None
        if self.topics is not None and segment.topic not in self.topics:
            return None
        own, limits = segment.wanted, self.wanted
        first, end = max(own.first, limits.first), min(own.end, limits.end)
        if first >= end:
            return None
        if not limits.at_any_time and (
            segment.times is None
            or segment.times[1] < limits.since
            or segment.times[0] >= limits.until
        ):
            return None
        return replace(segment, wanted=replace(limits, first=first, end=end))

    def _take(self, bound: ColumnBound) -> None:
        if bound.column == PARTITION:
            self.partitions = _among(bound, int, self.partitions)
        elif bound.column == TOPIC:
            self.topics = _among(bound, str, self.topics)
        elif bound.column == OFFSET and (found := _range(bound, int)) is not None:
            first, end = found
            self.wanted = replace(
                self.wanted,
                first=max(self.wanted.first, first if first is not None else 0),
                end=min(self.wanted.end, self.wanted.end if end is None else end + 1),
            )
        elif bound.column == TIMESTAMP and (moments := _range(bound, datetime)) is not None:
            since, until = moments
            self.wanted = replace(
                self.wanted,
                since=self.wanted.since if since is None else max(self.wanted.since, _ms(since)),
                until=(
                    self.wanted.until if until is None else min(self.wanted.until, _ms(until) + 1)
                ),
            )


def _among(bound: ColumnBound, kind: type, known: frozenset[Any] | None) -> frozenset[Any] | None:
    """Return the values that a column may have, by an equality and what was known before."""
    if bound.relation is Relation.EQUAL:
        values = frozenset({bound.value})
    elif bound.relation is Relation.AMONG:
        values = frozenset(bound.value)
    else:
        return known
    if not all(isinstance(each, kind) for each in values):
        return known
    return values if known is None else known & values


def _range(bound: ColumnBound, kind: type) -> tuple[Any, Any] | None:
    """Return the lowest and the highest value that a bound lets pass, or a little more.

    `None` stands for no limit; the whole is None where the bound cannot be made use of.
    """
    values = bound.value if bound.relation is Relation.AMONG else (bound.value,)
    if not values or not all(isinstance(each, kind) for each in values):
        return None
    match bound.relation:
        case Relation.EQUAL | Relation.AMONG:
            return min(values), max(values)
        case Relation.ABOVE | Relation.AT_LEAST:
            return min(values), None
        case Relation.BELOW | Relation.AT_MOST:
            return None, max(values)


def _ms(moment: datetime) -> int:
    """Return the whole milliseconds since 1970 before a moment; one without a zone is in UTC."""
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    since = known - _EPOCH
    return (since.days * 86_400_000) + since.seconds * 1000 + since.microseconds // 1000


def columns_as_ddl(names: Sequence[str]) -> str:
    """Return the columns of a table as a DDL text for Spark."""
    return ", ".join(f"`{name}` {_DDL[name]}" for name in names)


_DDL = {
    TOPIC: "STRING",
    **{
        field.name: {
            pa.binary(): "BINARY",
            pa.int64(): "BIGINT",
            pa.int32(): "INT",
            pa.timestamp("us", "UTC"): "TIMESTAMP",
        }.get(field.type, "ARRAY<STRUCT<key: BINARY, value: BINARY>>")
        for field in ARCHIVED
    },
}
