"""Segments stored as columns, without a Python object for each segment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.model import GapCounts, GapKind, PartitionId, Segment, SegmentId, SegmentPlace
from towpath.model.digest import Digest
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName

_KINDS = tuple(GapKind)
_GAPS = pa.list_(pa.struct([("kind", pa.int8()), ("offsets", pa.int64())]))
_WORD = pa.dictionary(pa.int32(), pa.string())
COLUMNS = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),  # which of `SegmentTable.partitions`
        pa.field("level", pa.int16(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("raw_bytes", pa.int64(), nullable=False),
        pa.field("first", pa.int64()),
        pa.field("last", pa.int64()),
        pa.field("min_time", pa.int64()),
        pa.field("max_time", pa.int64()),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("unordered", pa.uint64(), nullable=False),
        pa.field("ordered", pa.uint64(), nullable=False),
        pa.field("gaps", _GAPS, nullable=False),  # kinds by their place in `GapKind`
        pa.field("format", _WORD, nullable=False),
        pa.field("key", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("first_row_group", pa.int32()),
        pa.field("row_groups", pa.int32()),
        pa.field("storage_class", _WORD),
        pa.field("created", pa.int64(), nullable=False),
        pa.field("crc", pa.uint32()),  # later than the first version of the format
    ]
)
"""One row for each segment, sorted by partition and start."""


@dataclass(frozen=True, slots=True)
class TabledPartition:
    """The identity of a partition, and the name of its topic."""

    id: PartitionId
    topic: TopicName


@dataclass(frozen=True, slots=True)
class TableChange:
    """Changes to the segments of one partition.

    Attributes:
        removed: Those that are removed.
        added: Those that are added, by their start.
    """

    removed: frozenset[SegmentId] = frozenset()
    added: tuple[Segment, ...] = ()

    def then(self, removed: Iterable[SegmentId], added: Sequence[Segment]) -> TableChange:
        """Return these changes followed by later ones; `added` is sorted by start."""
        kept, gone = self.added, frozenset(removed)
        of_base = gone
        if gone:
            of_base = gone - {each.id for each in self.added}
            kept = tuple(each for each in self.added if each.id not in gone)
        made = (*kept, *added)
        if kept and added and added[0].start < kept[-1].start:
            made = tuple(sorted(made, key=lambda each: each.start))
        return TableChange(self.removed | of_base, made)


class SegmentTable:
    """An immutable table of all segments of an archive.

    Args:
        partitions: The partitions, in the order of the rows.
        rows: Their segments (`COLUMNS`).

    Attributes:
        partitions: The partitions, in the order of the rows.
        rows: Their segments (`COLUMNS`).
    """

    def __init__(
        self, partitions: Sequence[TabledPartition] = (), rows: pa.Table | None = None
    ) -> None:
        self.partitions = tuple(partitions)
        self.rows = COLUMNS.empty_table() if rows is None else rows
        self._places = {each.id: place for place, each in enumerate(self.partitions)}
        order = np.arange(len(self.partitions) + 1)
        self._bounds = np.searchsorted(_numbers(self.rows["partition"]), order)
        self._starts, self._ends = (_numbers(self.rows[name]) for name in ("start", "end"))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Segment]:
        """Yield all segments, by partition and start; each becomes an object."""
        return chain.from_iterable(self.between(each.id) for each in self.partitions)

    def between(
        self,
        partition: PartitionId,
        first: int = 0,
        end: int | None = None,
        most: int | None = None,
    ) -> list[Segment]:
        """Return the segments of a partition that overlap the offsets [first, end), by start.

        With `most`, only so many are returned.
        """
        place = self._places.get(partition)
        if place is None:
            return []
        low, high = int(self._bounds[place]), int(self._bounds[place + 1])
        # They do not overlap, so starts and ends are both ascending.
        at = low + int(np.searchsorted(self._ends[low:high], first, "right"))
        to = high if end is None else low + int(np.searchsorted(self._starts[low:high], end))
        to = to if most is None else min(to, at + most)
        return self._segments(self.partitions[place], at, to)

    def taken(self, numbers: pa.Array | pa.ChunkedArray) -> list[Segment]:
        """Return the segments in some rows, by row number."""
        rows = self.rows.take(numbers).to_pylist()
        return [_segment(self.partitions[row["partition"]], row) for row in rows]

    def changed(
        self, changes: Mapping[PartitionId, TableChange], topics: Mapping[PartitionId, TopicName]
    ) -> SegmentTable:
        """Return a table with the changes applied.

        Args:
            changes: The changes by partition.
            topics: The name of the topic of each partition that has changes.
        """
        if not changes:
            return self
        known = [each.id for each in self.partitions]
        ids = [*known, *(each for each in changes if each not in self._places)]
        names = {each.id: each.topic for each in self.partitions} | dict(topics)
        places = {each: place for place, each in enumerate(ids)}
        kept = self.rows.filter(pa.array(self._kept(changes)))
        new = [each for change in changes.values() for each in change.added]
        rows = pa.concat_tables([kept, table_of(new, places)], promote_options="none")
        rows = rows.unify_dictionaries().combine_chunks()
        order = pc.sort_indices(rows, [("partition", "ascending"), ("start", "ascending")])
        return SegmentTable([TabledPartition(each, names[each]) for each in ids], rows.take(order))

    def _kept(self, changes: Mapping[PartitionId, TableChange]) -> npt.NDArray[np.bool_]:
        kept = np.ones(len(self.rows), np.bool_)
        for partition, change in changes.items():
            place = self._places.get(partition)
            if place is None or not change.removed:
                continue
            low, high = int(self._bounds[place]), int(self._bounds[place + 1])
            starts = [each.start for each in change.removed]
            kept[low:high] = ~np.isin(self._starts[low:high], starts)
        return kept

    def _segments(self, partition: TabledPartition, low: int, high: int) -> list[Segment]:
        rows = self.rows.slice(low, high - low).to_pylist()
        return [_segment(partition, row) for row in rows]


def table_of(segments: Iterable[Segment], places: Mapping[PartitionId, int]) -> pa.Table:
    """Return segments as an Arrow table, in their order.

    Args:
        segments: The segments.
        places: The place of each partition.
    """
    rows = [_row(each, places[each.partition_id]) for each in segments]
    return pa.Table.from_pylist(rows, COLUMNS)


def _row(segment: Segment, place: int) -> dict[str, Any]:
    gaps = ((number, segment.gaps.get(kind)) for number, kind in enumerate(_KINDS))
    at = segment.place
    return {
        "partition": place,
        "level": segment.level,
        "start": segment.start,
        "end": segment.end,
        "raw_bytes": segment.raw_bytes,
        "first": segment.first,
        "last": segment.last,
        "min_time": segment.min_time,
        "max_time": segment.max_time,
        "records": segment.digest.records,
        "unordered": segment.digest.unordered,
        "ordered": segment.digest.ordered,
        "gaps": [{"kind": number, "offsets": count} for number, count in gaps if count],
        "format": segment.format.value,
        "key": at and at.key,
        "size": at and at.size,
        "first_row_group": at and at.first_row_group,
        "row_groups": at and at.row_groups,
        "storage_class": at and at.storage_class,
        "created": segment.created,
        "crc": at and at.crc,
    }


def _segment(partition: TabledPartition, row: Mapping[str, Any]) -> Segment:
    place = None
    if row["key"] is not None:
        place = SegmentPlace(
            key=row["key"],
            size=row["size"],
            first_row_group=row["first_row_group"],
            row_groups=row["row_groups"],
            storage_class=row["storage_class"],
            crc=row["crc"],
        )
    return Segment(
        cluster=partition.id.cluster,
        topic_id=partition.id.topic_id,
        topic=partition.topic,
        partition=partition.id.partition,
        level=row["level"],
        start=SourceOffset(row["start"]),
        end=SourceOffset(row["end"]),
        raw_bytes=row["raw_bytes"],
        first=row["first"],
        last=row["last"],
        min_time=row["min_time"],
        max_time=row["max_time"],
        digest=Digest(row["records"], row["unordered"], row["ordered"]),
        gaps=GapCounts(**{_KINDS[each["kind"]].value: each["offsets"] for each in row["gaps"]}),
        format=SegmentFormat(row["format"]),
        place=place,
        created=row["created"],
    )


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = column.to_numpy()
    return array
