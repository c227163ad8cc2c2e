"""Totals over the segments of an archive, by partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from towpath.archive.log import ArchiveState
from towpath.archive.model import GapCounts, GapKind, PartitionId, Segment

_KINDS = tuple(GapKind)


@dataclass(slots=True)
class PartitionSums:
    """Totals over the segments of one partition.

    Attributes:
        segments: Number of segments.
        records: Number of records.
        raw_bytes: Bytes of keys, values and headers, and 16 for each record.
        gaps: Offsets without a record, by kind.
    """

    segments: int = 0
    records: int = 0
    raw_bytes: int = 0
    gaps: Counter[str] = field(default_factory=Counter)

    @property
    def gap_counts(self) -> GapCounts:
        """Number of offsets without a record, by kind."""
        return GapCounts(**self.gaps)

    def add(self, segment: Segment) -> None:
        """Add a segment to the totals."""
        self.segments += 1
        self.records += segment.records
        self.raw_bytes += segment.raw_bytes
        for kind in _KINDS:
            if offsets := segment.gaps.get(kind):
                self.gaps[kind.value] += offsets


def sums_of(state: ArchiveState) -> Mapping[PartitionId, PartitionSums]:
    """Return the totals of each partition; computed by columns, without an object per segment."""
    table = state.table()
    count = len(table.partitions)
    places = np.asarray(table.rows["partition"])
    segments = np.bincount(places, minlength=count)
    records = np.bincount(places, np.asarray(table.rows["records"], np.float64), count)
    raw = np.bincount(places, np.asarray(table.rows["raw_bytes"], np.float64), count)
    found = [
        PartitionSums(int(number), int(of_them), int(size))
        for number, of_them, size in zip(segments, records, raw, strict=True)
    ]
    gaps = table.rows["gaps"].combine_chunks()
    kinds, offsets = (gaps.flatten().field(name).to_pylist() for name in ("kind", "offsets"))
    of_rows = places[np.asarray(gaps.value_parent_indices())].tolist()
    for place, kind, number in zip(of_rows, kinds, offsets, strict=True):
        found[place].gaps[_KINDS[kind].value] += number
    return {each.id: sums for each, sums in zip(table.partitions, found, strict=True)}
