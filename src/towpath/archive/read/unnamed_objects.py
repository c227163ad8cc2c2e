"""Orphaned objects, which no entry of the commit log names.

Such an object is what a writer left that died before its commit, or was slower than another one.
Or its entry was lost: the newest entries of a store that was set back, or that lost objects. Then
it may hold records that nothing else has, so it is never deleted. Nothing tells these cases apart
but the records: an object is **spare** if the archive holds all of its offsets in objects that are
there, or let them go on request; else it is **stranded**, and `archive recover` looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.format.either_format import read_object
from towpath.archive.format.footer import place_of
from towpath.archive.format.gaps import Gaps, number_of
from towpath.archive.keys import data_key, data_prefix
from towpath.archive.log import ArchiveState, CommitLog, EntryKind
from towpath.archive.model import GapKind, OffsetGap, PartitionId, Segment, SegmentPlace
from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SegmentFormat
from towpath.store import Store, StoredObject
from towpath.wire.batch import Table

_AT_ONCE = 50_000
_AHEAD = 256
_LACKING = tuple(
    each for each in GapKind if each not in {GapKind.MARKER, GapKind.ABORTED, GapKind.ERASED}
)
"""Gaps where another object may have a record: what was erased is gone on request, and the others
that are left out here never were records."""
_LACKING_NUMBERS = [number_of(each) for each in _LACKING]


def listed(region: str, store: Store, *, spread: bool) -> list[StoredObject]:
    """Return the objects with segments in a region, as the store lists them.

    Raises:
        StoreError: The store cannot be read.
    """
    prefix = data_prefix(region, spread=spread)
    return [each for each in store.list(prefix) if data_key(region, each.key) is not None]


def unnamed(state: ArchiveState, found: Sequence[StoredObject]) -> Iterator[StoredObject]:
    """Yield the objects that no present or removed segment uses."""
    named = state.table().rows["key"].combine_chunks()
    for at in range(0, len(found), _AT_ONCE):
        some = found[at : at + _AT_ONCE]
        keys = pa.array([each.key for each in some], pa.string())
        for each, is_named in zip(some, pc.is_in(keys, named).to_pylist(), strict=True):
            if not is_named and each.key not in state.removed:
                yield each


def segments_of(store: Store, found: StoredObject) -> tuple[Segment, ...]:
    """Return the segments of an object, from its footers.

    Raises:
        CorruptSegmentError: The object cannot be read.
        NewerSegmentError: It was written by a newer Towpath.
        StoreError: It is not there, or the store cannot be read.
    """
    kind = SegmentFormat(found.key.rpartition(".")[2])
    with closing(store.reader(found.key)) as file:
        footers = read_object(kind, file, found.key).footers
    place = SegmentPlace(key=found.key, size=found.size, storage_class=found.storage_class)
    return tuple(each.segment(kind, place_of(each, kind, place)) for each in footers)


def _covered(gaps: Gaps, offsets: Table) -> Table:
    """Return how many offsets of gaps lie before each of these offsets."""
    firsts, ends = gaps.table[:, 0], gaps.table[:, 1]
    if not len(firsts):
        return np.zeros(len(offsets), np.int64)
    sums = np.append(0, np.cumsum(ends - firsts))
    whole = np.searchsorted(ends, offsets, "right")
    begun = firsts[np.minimum(whole, len(firsts) - 1)]
    part = np.where(whole < len(firsts), np.maximum(0, offsets - begun), 0)
    return sums[whole] + part


class Holdings:
    """The records that an archive holds, without those in orphaned objects.

    Args:
        log: Its log.
        state: The state that counts.
    """

    def __init__(self, log: CommitLog, state: ArchiveState) -> None:
        self._log, self._state = log, state
        self._there: dict[str, bool] = {}

    def is_spare(self, segment: Segment) -> bool:
        """Return whether a segment's records are archived elsewhere, or were removed on request.

        Raises:
            CommitLogError: An entry is missing.
            StoreError: The store cannot be read.
        """
        known = self._state.partitions.get(segment.partition_id)
        if known is not None and not segment.records:
            return True
        if known is None or segment.end > known.archived_to:
            return False
        first = max(segment.start, known.begin)
        if first > segment.start and first > self._pruned.get(segment.partition_id, 0):
            return False  # its archive begins behind it, and nobody removed what was before
        holding = self._state.segments(segment.partition_id, first, segment.end)
        if not all(map(self._is_there, holding)):
            return False
        lacking = [each for each in holding if any(each.gaps.get(kind) for kind in _LACKING)]
        return not lacking or self._has_no_record(segment, first, lacking)

    def _has_no_record(self, segment: Segment, first: int, lacking: Iterable[Segment]) -> bool:
        """Whether a segment has no record where others, from an offset on, have gaps."""
        own = self._gaps(segment)
        for each in lacking:
            gaps = self._gaps(each).between(first, segment.end).table
            gaps = gaps[np.isin(gaps[:, 2], _LACKING_NUMBERS)]
            lengths = gaps[:, 1] - gaps[:, 0]
            if (_covered(own, gaps[:, 1]) - _covered(own, gaps[:, 0]) != lengths).any():
                return False
        return True

    def _gaps(self, segment: Segment) -> Gaps:
        """Return the gaps of a segment, as its object lists them; without one, all is a gap."""
        place = segment.place
        if place is None:
            return Gaps.of([OffsetGap(segment.start, segment.end, GapKind.LOST)])
        with closing(self._log.store.reader(place.key)) as file:
            footers = read_object(segment.format, file, place.key).footers
        return next(each.gaps for each in footers if each.first_row_group == place.first_row_group)

    def _is_there(self, segment: Segment) -> bool:
        place = segment.place
        if place is None:
            return True
        if place.key not in self._there:
            try:
                self._there[place.key] = self._log.store.head(place.key).size == place.size
            except ObjectMissingError:
                self._there[place.key] = False
        return self._there[place.key]

    @cached_property
    def _pruned(self) -> dict[PartitionId, int]:
        """Up to where partitions were pruned. It reads all of the log, and is seldom asked for."""
        ends: dict[PartitionId, int] = {}
        newest = self._state.version
        for first in range(1, newest + 1, _AHEAD):
            versions = range(first, min(first + _AHEAD, newest + 1))
            for entry in self._log.store.threads.map(self._log.entry, versions):
                for each in entry.remove if entry.kind is EntryKind.PRUNE else ():
                    ends[each.partition_id] = max(each.end, ends.get(each.partition_id, 0))
        return ends
