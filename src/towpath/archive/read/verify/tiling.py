"""Verification that the segments of each partition are contiguous. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from towpath.archive.errors import BrokenLogError
from towpath.archive.log import ArchivedTo, ArchiveState
from towpath.archive.model import PartitionId
from towpath.archive.read.verify.findings import ArchiveProblem


def untiled(state: ArchiveState) -> Iterator[ArchiveProblem]:
    """Yield a problem for each partition whose segments overlap or leave holes.

    The rules of the commit log allow none of that, so something else than Towpath altered the log,
    or Towpath has a fault.
    """
    table = state.table()
    places, starts, ends = (np.asarray(table.rows[name]) for name in ("partition", "start", "end"))
    bounds = np.searchsorted(places, np.arange(len(table.partitions) + 1))
    seen = set[PartitionId]()
    for number, tabled in enumerate(table.partitions):
        low, high = int(bounds[number]), int(bounds[number + 1])
        known = state.partitions.get(tabled.id)
        if low == high:
            continue
        seen.add(tabled.id)
        where = f"{tabled.topic}-{tabled.id.partition}"
        holes = np.flatnonzero(starts[low + 1 : high] != ends[low : high - 1])
        for at in holes.tolist():
            end, start = int(ends[low + at]), int(starts[low + at + 1])
            yield _problem(where, f"a segment ends at offset {end}, the next begins at {start}")
        yield from _bounds(where, int(starts[low]), int(ends[high - 1]), known)
    for partition, known in state.partitions.items():
        if partition not in seen and known.begin < known.archived_to:
            where = f"{known.topic}-{partition.partition}"
            told = f"offsets {known.begin} to {known.archived_to - 1}"
            yield _problem(where, f"the commit log says that {told} are archived, in no segment")


def _bounds(where: str, first: int, end: int, known: ArchivedTo | None) -> Iterator[ArchiveProblem]:
    said = (known.begin, known.archived_to) if known is not None else None
    if said is None:
        yield _problem(where, "it has segments, and the commit log does not know the partition")
    elif said != (first, end):
        text = f"its segments hold the offsets {first} to {end - 1}, and the commit log says"
        yield _problem(where, f"{text} {said[0]} to {said[1] - 1}")


def _problem(where: str, why: str) -> ArchiveProblem:
    return ArchiveProblem(code=BrokenLogError.code, about=where, why=why)
