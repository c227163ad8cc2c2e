"""The partitions of a restore, and what the commit log says of their records. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from towpath.restore.bounds import Offsets
from towpath.restore.model import RestorePart
from towpath.segments.log import Archive, ArchiveState, stretches
from towpath.segments.model import PartitionId

_SUMS = {"records": "sum", "raw_bytes": "sum", "min_time": "min", "max_time": "max"}
_JOINED: Mapping[str, Callable[[Iterable[int]], int]] = {"sum": sum, "min": min, "max": max}


def part_of(id_: PartitionId, wanted: Offsets, sums: Mapping[str, int | None]) -> RestorePart:
    """Return a partition of a restore, with the sums of its segments."""
    return RestorePart(
        id=id_,
        start=wanted[0],
        end=wanted[1],
        records=sums.get("records_sum") or 0,
        bytes=sums.get("raw_bytes_sum") or 0,
        oldest=sums.get("min_time_min"),
        newest=sums.get("max_time_max"),
    )


def sums_of(
    archive: Archive, wanted: Mapping[PartitionId, Offsets]
) -> dict[PartitionId, dict[str, int | None]]:
    """Return the records, bytes and times of the segments that have wanted offsets.

    Args:
        archive: The archive.
        wanted: The offsets of partitions; those of earlier histories count with them.
    """
    state = archive.then
    parts = {
        each.partition: (id_, max(first, each.first), min(end, each.end))
        for id_, (first, end) in wanted.items()
        for each in stretches(archive.single, id_)
    }
    found = _sums_of(state, {each: (first, end) for each, (_, first, end) in parts.items()})
    added: dict[PartitionId, dict[str, int | None]] = {each: {} for each in wanted}
    for each, sums in found.items():
        added[parts[each][0]] = _added(added[parts[each][0]], sums)
    return added


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
    rows = table.rows.filter(inside)
    grouped = pa.TableGroupBy(rows, "partition").aggregate(list(_SUMS.items()))
    return {table.partitions[row["partition"]].id: row for row in grouped.to_pylist()}
