"""What is read of which ranges, on both sides, in a round of the comparison. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from towpath.compare.row_sums import Pair, RowLook, RowSum, skips_of
from towpath.compare.written_rows import WrittenSlice
from towpath.mirror.transform.frames import range_of
from towpath.mirror.transform.proof.others import producers_of
from towpath.mirror.transform.proof.seen import SeenClusters
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.mirror.transform.proof.sums import Needed
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import ClusterConfig

if TYPE_CHECKING:
    from towpath.mirror.transform.frames import TransformRange

_PART = 1_000_000
"""Offsets of one task."""

Parts = Sequence[tuple[Pair, int, RowSum]]
"""What each range or slice had of a pair, with the offset at which it begins, in order."""


def ranges_of(
    seen: SeenClusters, stands: Mapping[TopicPartition, ProofStand]
) -> list[TransformRange]:
    """Return the ranges of the source whose records are made again."""
    return [
        range_of(row.tp, at.topic_id, replace(at, end=first), end)
        for row in seen.chosen
        if (at := seen.positions.get(row.tp)) is not None and stands[row.tp].first >= 0
        for first, end in _cut(stands[row.tp].first, at.end)
    ]


def slices_of(
    target: ClusterConfig, seen: SeenClusters, stands: Mapping[TopicPartition, ProofStand]
) -> list[WrittenSlice]:
    """Return the slices of the target that may have records of these partitions."""
    topics = frozenset[TopicName]().union(*(each.reached for each in stands.values()))
    producers = producers_of(seen.positions)
    return [
        WrittenSlice(target, tp, first, last, producers, RowLook())
        for tp, end in sorted(seen.end.items())
        if tp.topic in topics
        for first, last in _parted(seen.first.get(tp, 0), end, seen.borders.get(tp, end))
    ]


def looks_at(
    ranges: Sequence[TransformRange], parts: Parts, needed: Needed | None
) -> tuple[list[TransformRange], list[RowLook]]:
    """Return which ranges are made again, and what is wanted of each.

    Args:
        ranges: All ranges.
        parts: What they had in the first round.
        needed: What must be looked at again; `None` in the first round.
    """
    if needed is None:
        return [*ranges], [RowLook()] * len(ranges)
    sources = {source for source, _ in needed.pairs}
    again = [one for one in ranges if one.part.tp in sources]
    looks = []
    for one in again:
        own = (each for each in parts if each[0][0] == one.part.tp)
        skips = skips_of(own, {p: n for p, n in needed.made.items() if p[0] == one.part.tp})
        looks.append(RowLook(skips.get(one.part.start, {}), needed.lists))
    return again, looks


def slices_to_read(
    slices: Sequence[WrittenSlice], parts: Parts, needed: Needed | None
) -> list[WrittenSlice]:
    """Return which slices are read, with what is wanted of each.

    Args:
        slices: All slices.
        parts: What they had in the first round.
        needed: What must be looked at again; `None` in the first round.
    """
    if needed is None:
        return [*slices]
    targets = {target for _, target in needed.pairs}
    return [_again(one, parts, needed) for one in slices if one.tp in targets]


def _again(one: WrittenSlice, parts: Parts, needed: Needed) -> WrittenSlice:
    own = (each for each in parts if each[0][1] == one.tp)
    skips = skips_of(own, {p: n for p, n in needed.there.items() if p[1] == one.tp})
    return replace(one, look=RowLook(skips.get(one.first, {}), needed.lists))


def _cut(first: int, end: int) -> Iterator[tuple[int, int]]:
    for start in range(first, end, _PART):
        yield start, min(start + _PART, end)


def _parted(first: int, end: int, border: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a target partition; none lies on both sides of a border."""
    at = min(max(first, border), end)
    yield from _cut(first, at)
    yield from _cut(at, end)
