"""The partitions of a restore, with counts from the commit log. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.log import Archive, ArchiveState, stretches
from towpath.archive.model import GapKind, PartitionId
from towpath.archive.restore.bounds import Offsets
from towpath.archive.restore.model import RestorePart, RestoreTopic, SegmentMarks

_FILTERED = list(GapKind).index(GapKind.FILTERED)
"""How the table of segments has this kind."""
_SUMS = {"records": "sum", "raw_bytes": "sum", "min_time": "min", "max_time": "max"}
_JOINED: Mapping[str, Callable[[Iterable[int]], int]] = {"sum": sum, "min": min, "max": max}


def part_of(
    id_: PartitionId,
    wanted: Offsets,
    sums: Mapping[str, int | None],
    segments: SegmentMarks | None = None,
    *,
    filtered: int = 0,
    is_front: bool = False,
) -> RestorePart:
    """Return a partition of a restore, with the totals of its segments.

    Args:
        id_: The archived partition.
        wanted: The offsets to restore, the end exclusive.
        sums: Totals of its segments, by the names of their columns; those that are unknown lack.
        segments: Where its segments begin and end.
        filtered: How many offsets the archive left out, as a restore had written them.
        is_front: Whether `wanted` begins where the archive of the partition begins now.
    """
    return RestorePart(
        id=id_,
        start=wanted[0],
        end=wanted[1],
        records=sums.get("records_sum") or 0,
        bytes=sums.get("raw_bytes_sum") or 0,
        oldest=sums.get("min_time_min"),
        newest=sums.get("max_time_max"),
        filtered=filtered,
        segments=segments or SegmentMarks(),
        is_front=is_front,
    )


def sums_of(
    archive: Archive, wanted: Mapping[PartitionId, Offsets]
) -> dict[PartitionId, dict[str, int | None]]:
    """Return the approximate totals of the wanted offsets, and the times of their segments.

    Args:
        archive: The archive.
        wanted: The offsets of partitions; those of earlier histories count with them.
    """
    parts = _stretched(archive, wanted)
    ranges = {each: (first, end) for each, (_, first, end) in parts.items()}
    found = _sums_of(archive.then, ranges)
    added: dict[PartitionId, dict[str, int | None]] = {each: {} for each in wanted}
    for each, sums in found.items():
        added[parts[each][0]] = _added(added[parts[each][0]], sums)
    return added


def marks_of(
    archive: Archive, wanted: Mapping[PartitionId, Offsets]
) -> dict[PartitionId, SegmentMarks]:
    """Return the segments that overlap the wanted offsets; see `sums_of`."""
    found: dict[PartitionId, SegmentMarks] = {}
    table = archive.then.table()
    places = {each.id: place for place, each in enumerate(table.partitions)}
    of, starts, ends, written = (
        table.rows[name].to_numpy() for name in ("partition", "start", "end", "created")
    )
    for each, (id_, first, end) in _stretched(archive, wanted).items():
        if first < end and each in places:
            low, high = np.searchsorted(of, [places[each], places[each] + 1])
            low += np.searchsorted(ends[low:high], first, "right")
            high = low + np.searchsorted(starts[low:high], end)
            marks = SegmentMarks(ends[low:high].tolist(), written[low:high].tolist())
            found[id_] = found[id_].and_then(marks) if id_ in found else marks
    return found


def filtered_of(archive: Archive, wanted: Mapping[PartitionId, Offsets]) -> dict[PartitionId, int]:
    """Return the approximate number of wanted offsets that the archive left out."""
    table = archive.then.table()
    gaps = table.rows["gaps"].combine_chunks()
    kinds = np.asarray(gaps.flatten().field("kind"))
    places = np.flatnonzero(kinds == _FILTERED)
    found: dict[PartitionId, int] = {}
    if not len(places):
        return found
    rows = np.asarray(gaps.value_parent_indices())[places]
    offsets = np.asarray(gaps.flatten().field("offsets"))[places]
    of, starts, ends = (table.rows[name].to_numpy()[rows] for name in ("partition", "start", "end"))
    parts = _stretched(archive, wanted)
    for place, start, end, number in zip(of, starts, ends, offsets, strict=True):
        id_, first, last = parts.get(table.partitions[place].id, (None, 0, 0))
        inside = min(end, last) - max(start, first)
        if id_ is not None and inside > 0:
            share = max(1, round(int(number) * int(inside) / int(end - start)))
            found[id_] = found.get(id_, 0) + share
    return found


def expired(state: ArchiveState, topic: RestoreTopic, before: int) -> int:
    """Return how many archived records of a topic are older than a time, by segment.

    Args:
        state: The archive.
        topic: The topic.
        before: The time in ms.
    """
    table = state.table()
    ids = {
        each.partition for part in topic.parts for each in stretches(state.partitions.get, part.id)
    }
    places = [place for place, each in enumerate(table.partitions) if each.id in ids]
    rows = table.rows
    old = pc.and_(
        pc.is_in(rows["partition"], pa.array(places, pa.int32())),
        pc.less(rows["max_time"], pa.scalar(before, pa.int64())),
    )
    return int(pc.sum(rows.filter(pc.fill_null(old, fill_value=False))["records"]).as_py() or 0)


def _stretched(
    archive: Archive, wanted: Mapping[PartitionId, Offsets]
) -> dict[PartitionId, tuple[PartitionId, int, int]]:
    """Return the wanted offsets of each history, and the partition that they belong to."""
    return {
        each.partition: (id_, max(first, each.first), min(end, each.end))
        for id_, (first, end) in wanted.items()
        for each in stretches(archive.single, id_)
    }


def _added(one: Mapping[str, int | None], other: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the sums of segments of two histories together."""
    made: dict[str, int | None] = {}
    for column, how in _SUMS.items():
        name = f"{column}_{how}"
        both = [each for each in (one.get(name), other.get(name)) if each is not None]
        made[name] = _JOINED[how](both) if both else None
    return made


def _sums_of(
    state: ArchiveState, wanted: Mapping[PartitionId, tuple[int, int]]
) -> dict[PartitionId, dict[str, int | None]]:
    table, place = state.table(), state.table().rows["partition"]
    known = [wanted.get(each.id, (0, 0)) for each in table.partitions]
    first, end = (pc.take(pa.array([e[n] for e in known], pa.int64()), place) for n in (0, 1))
    inside = pc.and_(pc.greater(table.rows["end"], first), pc.less(table.rows["start"], end))
    rows = _as_wanted(table.rows.filter(inside), first.filter(inside), end.filter(inside))
    grouped = pa.TableGroupBy(rows, "partition").aggregate(list(_SUMS.items()))
    return {table.partitions[row["partition"]].id: row for row in grouped.to_pylist()}


def _as_wanted(rows: pa.Table, first: pa.Array, end: pa.Array) -> pa.Table:
    """Return segments with the approximate records and bytes of their wanted offsets.

    Of a segment that is wanted in part, that is its share of offsets.
    """
    starts, ends = rows["start"].to_numpy(), rows["end"].to_numpy()
    low, high = np.maximum(starts, first.to_numpy()), np.minimum(ends, end.to_numpy())
    share = (high - low) / np.maximum(1, ends - starts)
    for name in ("records", "raw_bytes"):
        wanted = np.rint(rows[name].to_numpy() * share).astype(np.int64)
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(wanted))
    return rows
