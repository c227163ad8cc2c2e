"""Objects that no entry of the commit log names, and whether the archive holds what is in them.

Such an object is what a writer left that died before its commit, or was slower than another one.
Or its entry was lost: the newest entries of a store that was set back, or that lost objects. Then
it may hold records that nothing else has, so it is never deleted. Nothing tells these cases apart
but the records: an object is **spare** if the archive holds all of its offsets in objects that are
there, or let them go on request; else it is **stranded**, and `archive recover` looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SegmentFormat
from towpath.segments.compact.objects import place_of
from towpath.segments.format.files import read_object
from towpath.segments.keys import data_key, data_prefix
from towpath.segments.log import ArchiveState, CommitLog, EntryKind
from towpath.segments.model import GapKind, PartitionId, Segment, SegmentPlace
from towpath.store import Store, StoredObject

_AT_ONCE = 50_000
_AHEAD = 256
_LACKING = tuple(
    each for each in GapKind if each not in {GapKind.MARKER, GapKind.ABORTED, GapKind.ERASED}
)
"""Gaps where another object may have a record: what was erased is gone on request, and the others
that are left out here never were records."""


def listed(region: str, store: Store, *, spread: bool) -> list[StoredObject]:
    """Return the objects of a region that have segments, as the store lists them.

    Raises:
        StoreError: The store cannot be read.
    """
    prefix = data_prefix(region, spread=spread)
    return [each for each in store.list(prefix) if data_key(region, each.key) is not None]


def unnamed(state: ArchiveState, found: Sequence[StoredObject]) -> Iterator[StoredObject]:
    """Yield the objects that no segment has, and none had that was removed."""
    named = state.table().rows["key"].combine_chunks()
    for at in range(0, len(found), _AT_ONCE):
        some = found[at : at + _AT_ONCE]
        keys = pa.array([each.key for each in some], pa.string())
        for each, is_named in zip(some, pc.is_in(keys, named).to_pylist(), strict=True):
            if not is_named and each.key not in state.removed:
                yield each


def segments_of(store: Store, found: StoredObject) -> tuple[Segment, ...]:
    """Return the segments of an object, as its footers tell of them.

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


class Holdings:
    """What an archive holds besides the objects that are in no entry.

    Args:
        log: Its log.
        state: The state that counts.
    """

    def __init__(self, log: CommitLog, state: ArchiveState) -> None:
        self._log, self._state = log, state
        self._there: dict[str, bool] = {}

    def is_spare(self, segment: Segment) -> bool:
        """Whether the archive holds all of a segment elsewhere, or let it go on request.

        Raises:
            CommitLogError: An entry is missing.
            StoreError: The store cannot be read.
        """
        known = self._state.partitions.get(segment.partition_id)
        if known is None or segment.end > known.archived_to:
            return False
        first = max(segment.start, known.begin)
        if first > segment.start and first > self._pruned.get(segment.partition_id, 0):
            return False  # its archive begins behind it, and nobody removed what was before
        holding = self._state.segments(segment.partition_id, first, segment.end)
        if not all(map(self._is_there, holding)):
            return False
        lacking = sum(each.gaps.get(kind) for each in holding for kind in _LACKING)
        return not lacking or self._has_no_more(segment, holding)

    @staticmethod
    def _has_no_more(segment: Segment, holding: Sequence[Segment]) -> bool:
        """Whether a segment has no more records than those that have its very range."""
        if (holding[0].start, holding[-1].end) != (segment.start, segment.end):
            return False
        held = sum(each.records + each.gaps.erased for each in holding)
        return segment.records <= held

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
