"""A compaction slice: merges segments; damage stops only the merge concerned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial

import pyarrow as pa

from towpath.archive.format.footer import SegmentFooter, place_of
from towpath.archive.format.merging import MergedObject, merge, merge_batches
from towpath.archive.format.regrouping import MergedInput
from towpath.archive.keys import shared_key
from towpath.archive.model import Segment, SegmentPlace
from towpath.archive.upkeep.slice.compact_work import SCHEMA, CompactResult, CompactSlice
from towpath.archive.upkeep.slice.merge_inputs import (
    footer_of_gaps,
    held_inputs,
    inputs_of,
    require_equal,
)
from towpath.archive.upkeep.slice.merge_plan import Bundle, PlannedMerge
from towpath.archive.upkeep.slice.new_objects import (
    OF_ONE,
    WRITTEN_AGAIN,
    NewObject,
    new_key,
)
from towpath.model.errors import (
    StoreError,
    TowpathError,
)
from towpath.model.nouns import SegmentFormat
from towpath.store import Store

__all__ = ["SCHEMA", "compact", "compact_rows"]


def compact(work: CompactSlice) -> Iterator[CompactResult]:
    """Merge the segments of a slice. Yields the result of each merge."""
    with Store(work.store, begun=True) as store:
        merging = _Merging(work, store)
        stopped: StoreError | None = None
        for bundle in work.bundles:
            found: Mapping[PlannedMerge, Segment | TowpathError] = {}
            try:
                if stopped is None:
                    found = merging.done(bundle)
            except StoreError as error:
                stopped = error
            for each in bundle:
                yield _result(each, found.get(each, stopped))


def compact_rows(work: CompactSlice) -> Iterator[pa.RecordBatch]:
    """Merge the segments of a slice for Spark. Yields one row of `SCHEMA` per merge."""
    for each in compact(work):
        yield pa.RecordBatch.from_pydict({"compacted": [each.to_json()]})


def _result(merge: PlannedMerge, found: Segment | TowpathError | None) -> CompactResult:
    made = found if isinstance(found, Segment) else None
    trouble = found.reason if isinstance(found, TowpathError) else None
    return CompactResult(id=merge.id, start=merge.start, made=made, trouble=trouble)


class _Merging:
    """Does merges, one bundle at a time."""

    def __init__(self, work: CompactSlice, store: Store) -> None:
        self._work, self._store = work, store

    def done(self, bundle: Bundle) -> dict[PlannedMerge, Segment | TowpathError]:
        """Do the merges of a bundle. Returns the new segment or the error of each.

        Raises:
            StoreError: The store cannot be used now.
        """
        if len(bundle) > 1:
            return self._shared(bundle)
        (only,) = bundle
        try:
            return {only: self._alone(only)}
        except OF_ONE as error:
            return {only: error}

    def _alone(self, wanted: PlannedMerge) -> Segment:
        """Write a segment with an object of its own, if it has a record."""
        kind = wanted.format(self._work.format)
        inputs = inputs_of(self._store, wanted.segments, self._work.rows)
        with ExitStack() as stack:
            out = NewObject(self._store, stack, partial(self._key, wanted, kind), wanted.level)
            begin = partial(out.begin, _expected(wanted, kind))
            if kind is SegmentFormat.BATCHES:
                footer, _ = merge_batches(inputs, begin, level=wanted.level)
            else:
                footer, _ = merge(inputs, begin, level=wanted.level, options=WRITTEN_AGAIN)
            place = out.close([footer], kind)
        return _checked(wanted, footer, kind, place)

    def _shared(self, bundle: Bundle) -> dict[PlannedMerge, Segment | TowpathError]:
        """Write small segments into one object."""
        found: dict[PlannedMerge, Segment | TowpathError] = {}
        given: dict[PlannedMerge, list[MergedInput]] = {}
        held = self._held(bundle)
        for each in bundle:
            inputs = [_held_input(segment, held) for segment in each.segments]
            wrong = next((one for one in inputs if isinstance(one, TowpathError)), None)
            if wrong is None:
                given[each] = [one for one in inputs if isinstance(one, MergedInput)]
            else:
                found[each] = wrong
        if given:
            found |= self._together(given)
        return found

    def _together(
        self, given: Mapping[PlannedMerge, list[MergedInput]]
    ) -> dict[PlannedMerge, Segment | TowpathError]:
        first = next(iter(given))
        key = partial(shared_key, self._work.region, first.topic, first.level,
                      spread=self._work.store.spread)  # fmt: skip
        with ExitStack() as stack:
            out = NewObject(self._store, stack, key, first.level)
            target = MergedObject(partial(out.begin, 0), WRITTEN_AGAIN)
            footers = {each: target.merge(some, each.level) for each, some in given.items()}
            target.close()
            place = out.close([*footers.values()], SegmentFormat.PARQUET)
        return {each: _checked(each, footer, SegmentFormat.PARQUET, place)
                for each, footer in footers.items()}  # fmt: skip

    def _held(self, bundle: Bundle) -> dict[str, dict[Segment, MergedInput] | TowpathError]:
        """Return the inputs of a bundle by their objects, or what is wrong with an object."""
        objects: dict[str, list[Segment]] = {}
        for each in bundle:
            for segment in each.segments:
                if segment.place is not None:
                    objects.setdefault(segment.place.key, []).append(segment)
        found: dict[str, dict[Segment, MergedInput] | TowpathError] = {}
        for key, segments in objects.items():
            try:
                inputs = held_inputs(self._store, key, segments)
                found[key] = dict(zip(segments, inputs, strict=True))
            except OF_ONE as error:
                found[key] = error
        return found

    def _key(self, wanted: PlannedMerge, kind: SegmentFormat) -> str:
        place = wanted.topic, wanted.id.partition, wanted.level
        return new_key(self._store, self._work.region, place, (wanted.start, wanted.end), kind)


def _held_input(
    segment: Segment, held: Mapping[str, dict[Segment, MergedInput] | TowpathError]
) -> MergedInput | TowpathError:
    if segment.place is None:
        return MergedInput(footer_of_gaps(segment))
    found = held[segment.place.key]
    return found if isinstance(found, TowpathError) else found[segment]


def _checked(
    wanted: PlannedMerge, footer: SegmentFooter, kind: SegmentFormat, place: SegmentPlace | None
) -> Segment:
    """Return the new segment, which holds what its inputs hold."""
    made = footer.segment(kind, place_of(footer, kind, place))
    require_equal(made, wanted.segments, place.key if place else "of the compaction")
    return made


def _expected(wanted: PlannedMerge, kind: SegmentFormat) -> int:
    """Return the most bytes that the object may have: what is not copied may become larger."""
    copied = all(each.format is kind for each in wanted.segments)
    return wanted.bytes if copied else max(wanted.bytes, wanted.raw_bytes)
