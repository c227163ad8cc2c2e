"""The plan of a compaction: which segments are merged into larger ones. Pure.

A rule is applied to each partition by itself: neighbours whose level and age it names are put
together from the left on, as many as its bounds allow. Gaps are parts of segments, so they part
nothing. What is put together is merged if it is enough by count, by bytes, or by age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.log.columns import SegmentTable, TabledPartition
from towpath.archive.model import PartitionId, Segment
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName

T = TypeVar("T")

SMALL_RAW = 16 << 20
"""Most bytes of records of a segment that shares its object; they are held in memory."""
_BUNDLE_RAW = 64 << 20
"""Most bytes of records of all segments that share an object."""
_SLICE_BYTES = 2 << 30
"""Bytes that one slice reads, unless a single merge is larger: then others wait less."""
_EACH_INPUT = 64 << 10
"""What an input costs besides its bytes, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMerge:
    """Consecutive segments of one partition to be merged.

    Attributes:
        segments: The segments, in order.
        bytes: Bytes of their objects; of an object that others share, their share.
    """

    segments: tuple[Segment, ...]
    bytes: int

    @property
    def id(self) -> PartitionId:
        """The partition of the segments."""
        return self.segments[0].partition_id

    @property
    def topic(self) -> TopicName:
        """The topic's name, as in the last segment."""
        return self.segments[-1].topic

    @property
    def level(self) -> int:
        """The level of the merged segment."""
        return 1 + max(each.level for each in self.segments)

    @property
    def start(self) -> SourceOffset:
        """First offset of the merged range."""
        return self.segments[0].start

    @property
    def end(self) -> SourceOffset:
        """End of the merged range, exclusive."""
        return self.segments[-1].end

    @property
    def raw_bytes(self) -> int:
        """Bytes of keys, values and headers plus 16 for each record."""
        return sum(each.raw_bytes for each in self.segments)

    @property
    def cost(self) -> int:
        """Estimated work of the merge, in bytes."""
        return self.bytes + _EACH_INPUT * len(self.segments)

    def format(self, wanted: SegmentFormat) -> SegmentFormat:
        """Return the merged segment's format: batches only if all inputs and the file agree."""
        kept = all(each.format is wanted for each in self.segments if each.place is not None)
        return wanted if kept else SegmentFormat.PARQUET


Bundle = tuple[PlannedMerge, ...]
"""Merges whose results share one object; most stand alone."""


def plan_merges(
    table: SegmentTable,
    rule: CompactionConfig,
    now: int,
    wanted: Callable[[TabledPartition], bool] = lambda _: True,
) -> list[PlannedMerge]:
    """Return the merges that a rule asks for.

    Args:
        table: All segments.
        rule: The rule.
        now: The present time, in ms.
        wanted: Whether a partition is looked at; by default all are whose topics the rule names.
    """
    rows = _Rows(table)
    found: list[PlannedMerge] = []
    for place, partition in enumerate(table.partitions):
        if not rule.concerns(partition.topic) or not wanted(partition):
            continue
        for low, high in rows.groups(place, rule, now):
            segments = table.between(partition.id, rows.start(low), rows.end(high - 1))
            size = sum(rows.sizes[low:high].tolist())
            found.append(PlannedMerge(segments=tuple(segments), bytes=round(size)))
    return found


def qualifying(
    table: SegmentTable, rule: CompactionConfig, now: int
) -> Iterator[tuple[int, float]]:
    """Yield the number of segments and the bytes of each merge that a rule asks for.

    It makes no segments, so it is fast in large archives, too.

    Args:
        table: All segments.
        rule: The rule.
        now: The present time, in ms.
    """
    rows = _Rows(table)
    for place, partition in enumerate(table.partitions):
        if rule.concerns(partition.topic):
            for low, high in rows.groups(place, rule, now):
                yield high - low, float(rows.sizes[low:high].sum())


class _Rows:
    """The columns of all segments that a plan looks at."""

    def __init__(self, table: SegmentTable) -> None:
        rows = table.rows
        self._levels, self._created, self._starts, self._ends = (
            rows[name].to_numpy() for name in ("level", "created", "start", "end")
        )
        order = np.arange(len(table.partitions) + 1)
        self._bounds = np.searchsorted(rows["partition"].to_numpy(), order)
        self.sizes = object_shares(table)

    def start(self, row: int) -> int:
        return int(self._starts[row])

    def end(self, row: int) -> int:
        return int(self._ends[row])

    def groups(self, place: int, rule: CompactionConfig, now: int) -> Iterator[tuple[int, int]]:
        """Yield the rows [low, high) of each merge in a partition."""
        low, high = int(self._bounds[place]), int(self._bounds[place + 1])
        levels, created = self._levels[low:high], self._created[low:high]
        fits = (levels >= rule.min_level) & (levels <= rule.max_level)
        fits &= created <= now - rule.min_age * 1000
        for first, end in _runs(fits):
            for one, other in self._cut(low + first, low + end, rule):
                if self._is_enough(one, other, rule, now):
                    yield one, other

    def _cut(self, low: int, high: int, rule: CompactionConfig) -> Iterator[tuple[int, int]]:
        """Yield the parts of a run of neighbours, each as large as the rule allows."""
        begin, held = low, 0.0
        for row, size in enumerate(self.sizes[low:high].tolist(), low):
            if row > begin and (row - begin == rule.max_count or held + size > rule.max_size):
                yield begin, row
                begin, held = row, 0.0
            held += size
        yield begin, high

    def _is_enough(self, low: int, high: int, rule: CompactionConfig, now: int) -> bool:
        if high - low < 2:
            return False
        is_old = int(self._created[low:high].min()) <= now - rule.max_age * 1000
        is_large = float(self.sizes[low:high].sum()) >= rule.min_size
        return high - low >= rule.min_count or is_large or is_old


def object_shares(table: SegmentTable) -> npt.NDArray[np.float64]:
    """Return each segment's share of its object's bytes, divided by raw bytes."""
    coded = table.rows["key"].combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    raw = table.rows["raw_bytes"].to_numpy().astype(np.float64)
    size = table.rows["size"].fill_null(0).to_numpy().astype(np.float64)
    all_raw = np.bincount(codes, raw, len(coded.dictionary) + 1)[codes]
    shares = np.zeros(len(raw))
    np.divide(size * raw, all_raw, out=shares, where=all_raw > 0)
    return shares


def _runs(fits: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return [first, end) of each stretch that is true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], fits, [False]))))
    return [(int(one), int(other)) for one, other in edges.reshape(-1, 2)]


def bundled(
    merges: Iterable[PlannedMerge], share: int, wanted: SegmentFormat = SegmentFormat.PARQUET
) -> list[Bundle]:
    """Bundle merges: small ones of one topic and level share an object.

    Args:
        merges: The merges.
        share: Bytes below which the result shares an object; 0 for none.
        wanted: The format that the file asks for.
    """
    found: list[Bundle] = []
    small: list[PlannedMerge] = []
    for each in merges:
        is_small = each.bytes < share and each.raw_bytes <= SMALL_RAW
        if is_small and each.format(wanted) is SegmentFormat.PARQUET:
            small.append(each)
        else:
            found.append((each,))
    small.sort(key=_kind)
    for _, alike in groupby(small, _kind):
        found += _filled([*alike])
    return found


def _kind(merge: PlannedMerge) -> tuple[str, str, int]:
    return merge.topic, merge.id.topic_id, merge.level


def _filled(merges: Sequence[PlannedMerge]) -> Iterator[Bundle]:
    held: list[PlannedMerge] = []
    for each in merges:
        if held and sum(one.raw_bytes for one in held) + each.raw_bytes > _BUNDLE_RAW:
            yield tuple(held)
            held = []
        held.append(each)
    yield tuple(held)


def next_slices(
    bundles: Sequence[Bundle], slots: int, most: int = _SLICE_BYTES
) -> tuple[list[tuple[Bundle, ...]], list[Bundle]]:
    """Return the bundles of each slice of the next round, and the remaining ones.

    Args:
        bundles: What is to be done.
        slots: Number of slices.
        most: Bytes of one slice, unless a single bundle is larger.
    """
    return shared_out(bundles, _cost, slots, most)


def shared_out(
    items: Iterable[T], cost: Callable[[T], int], slots: int, most: int
) -> tuple[list[tuple[T, ...]], list[T]]:
    """Distribute items over slices, the largest first; return the slices and the rest.

    Args:
        items: What is to be done.
        cost: How much work an item is.
        slots: Number of slices.
        most: Upper bound on the work of one slice, unless a single item is more.
    """
    slices: list[list[T]] = [[] for _ in range(slots)]
    held = [0] * slots
    left: list[T] = []
    for each in sorted(items, key=cost, reverse=True):
        at = held.index(min(held))
        if slices[at] and held[at] + cost(each) > most:
            left.append(each)
            continue
        slices[at].append(each)
        held[at] += cost(each)
    return [tuple(each) for each in slices if each], left


def _cost(bundle: Bundle) -> int:
    return sum(each.cost for each in bundle)
