"""The plan of a cycle: the offset ranges to archive now. Pure.

A range begins at what is archived so far, and ends at the last stable offset or before it. It is
planned by bytes: offsets are multiplied with the density that a partition had so far. The plan
decides what is read where. The limits of a segment are kept while it is written, so a range becomes
one segment or several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from towpath.archive.config.segments import SegmentLimits
from towpath.archive.model import BatchMark, GapKind, OffsetGap, PartitionId
from towpath.model.nouns import SourceOffset, TopicName
from towpath.model.portions import portions

TASK_BYTES = 1 << 30
"""Most estimated bytes of one task, so that a cycle ends soon and one that fails costs little."""
_LEAST_TASK = 32 << 20
"""Estimated bytes below which a task is not worth its start."""
_MOST_RANGES = 500
"""Ranges of one task, as each costs a reader and a row group."""
_AIM = 0.95
"""Part of the most bytes of a segment that a range aims at, as its density is an estimate."""
_TAKEN_ALONG = 0.5
"""Part of the age at which small ranges of a topic join one that is due, to share its object."""

GUESS = 1024.0
"""Bytes for each offset of a partition of which nothing was read yet."""

Span = tuple[SourceOffset, SourceOffset]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """The state of a partition when a cycle is planned.

    Attributes:
        id: Its identity.
        topic: The name of its topic.
        archived_to: The offset up to which it is archived.
        log_start: Its log start offset.
        stable_end: Its last stable offset.
        waited: Seconds for which its oldest offset that is not archived may have been there.
        density: Bytes for each offset so far, `None` if that is not known.
        ahead: Ranges that are written already and wait for one before them.
        tail: The last batch that is known to be archived, `None` if none is.
    """

    id: PartitionId
    topic: TopicName
    archived_to: SourceOffset
    log_start: SourceOffset
    stable_end: SourceOffset
    waited: float = 0.0
    density: float | None = None
    ahead: tuple[Span, ...] = ()
    tail: BatchMark | None = None

    @property
    def start(self) -> SourceOffset:
        """The first offset that is not archived and that the source still has."""
        gap = self.overtaken
        return self.archived_to if gap is None else gap.end

    @property
    def pending(self) -> int:
        """Number of offsets that are not archived and that the source still has."""
        return max(0, self.stable_end - self.start)

    @property
    def bytes(self) -> int:
        """Estimated bytes of the pending offsets."""
        return self.size(self.pending)

    @property
    def overtaken(self) -> OffsetGap | None:
        """The offsets that the source deleted before they were archived."""
        end = min([self.log_start, *(first for first, _ in self.ahead)])
        if end <= self.archived_to:
            return None
        return OffsetGap(self.archived_to, end, GapKind.RETENTION)

    @property
    def cut_by(self) -> int:
        """Number of offsets by which the source's log is shorter than its archive."""
        return max(0, self.archived_to - self.stable_end)

    def size(self, offsets: int) -> int:
        """Estimate the bytes of a number of offsets."""
        return round(offsets * (GUESS if self.density is None else self.density))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRange:
    """Offsets [start, end) of a partition that one task reads.

    Attributes:
        id: The partition.
        topic: The name of its topic.
        start: The first offset.
        end: The end, exclusive.
        bytes: How many bytes these may be.
        shares: Whether its segment shares an object with others of the topic.
        probe: The density is not known, so the task ends the range after the first whole segment.
        looks_back: The offset before `start` is still in the log. It is read, too, as its batch
            tells whether the log is the one that was archived before.
        epoch: The leader epoch of that batch, -1 if it is not known.
    """

    id: PartitionId
    topic: TopicName
    start: SourceOffset
    end: SourceOffset
    bytes: int
    shares: bool = False
    probe: bool = False
    looks_back: bool = False
    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleTerms:
    """The parameters of planning a cycle.

    Attributes:
        limits: Returns the limits of a topic.
        share: Ranges of fewer bytes share an object; 0 where the format of objects forbids that.
        slots: Number of tasks that run at a time.
        all_due: Everything is due, whatever its age: the run ends when it has caught up.
    """

    limits: Callable[[TopicName], SegmentLimits]
    share: int
    slots: int
    all_due: bool = False

    @property
    def most_bytes(self) -> int:
        """Upper bound on the estimated bytes of a cycle."""
        return self.slots * TASK_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    """The plan of one cycle.

    Attributes:
        tasks: The ranges of each task.
        gaps: Offsets that are gone at the source, by partition. They need no task.
        left: Whether ranges are due that must wait for the next cycle.
    """

    tasks: tuple[tuple[PlannedRange, ...], ...] = ()
    gaps: Mapping[PartitionId, OffsetGap] = field(default_factory=dict)
    left: bool = False

    @property
    def ranges(self) -> tuple[PlannedRange, ...]:
        """The ranges of all tasks."""
        return tuple(each for task in self.tasks for each in task)


def plan_cycle(views: Iterable[PartitionView], terms: CycleTerms) -> CyclePlan:
    """Return the plan of the next cycle."""
    known = [*views]
    gaps = {view.id: gap for view in known if (gap := view.overtaken) is not None}
    wanted = [_ranges(view, terms) for view in _due(known, terms)]
    taken, left = _within(wanted, terms.most_bytes)
    return CyclePlan(tasks=tuple(_packed(taken, terms.slots)), gaps=gaps, left=left)


# What is due


def _due(views: Sequence[PartitionView], terms: CycleTerms) -> list[PartitionView]:
    """Return the partitions that are archived now, those that have waited longest first."""
    due = {view.id for view in views if view.pending and _is_due(view, terms)}
    topics = {view.topic for view in views if view.id in due and _is_small(view, terms)}
    due |= {view.id for view in views if view.topic in topics and _joins(view, terms)}
    return sorted((view for view in views if view.id in due), key=lambda view: -view.waited)


def _is_due(view: PartitionView, terms: CycleTerms) -> bool:
    limits = terms.limits(view.topic)
    is_full = view.pending >= limits.messages or view.bytes >= limits.bytes
    # What is behind a range that was read already waits for nothing but its turn.
    return terms.all_due or is_full or view.waited >= limits.age or bool(view.ahead)


def _is_small(view: PartitionView, terms: CycleTerms) -> bool:
    return view.bytes < terms.share


def _joins(view: PartitionView, terms: CycleTerms) -> bool:
    """Whether a small partition is archived with one of its topic that is due."""
    is_old = view.waited >= _TAKEN_ALONG * terms.limits(view.topic).age
    return bool(view.pending) and is_old and _is_small(view, terms)


# Ranges


def _ranges(view: PartitionView, terms: CycleTerms) -> Iterator[PlannedRange]:
    """Yield the ranges of a partition, without those that are written already."""
    for first, end in _holes(view):
        yield from _cut(view, first, end, terms.limits(view.topic), terms.share)


def _holes(view: PartitionView) -> list[Span]:
    """Return what is pending beside the ranges that are written already."""
    done = sorted(view.ahead)
    borders = [view.start, *(border for span in done for border in span), view.stable_end]
    return [(first, end) for first, end in [*pairwise(borders)][::2] if first < end]


def _cut(
    view: PartitionView, first: SourceOffset, end: SourceOffset, limits: SegmentLimits, share: int
) -> Iterator[PlannedRange]:
    """Cut offsets into ranges that become one segment each, as far as can be told before."""
    size = view.size(end - first)
    if view.density is None and size > limits.bytes:
        yield _range(view, first, end, limits.bytes, probe=True)
        return
    count = min(max(1, -(-size // int(_AIM * limits.bytes))), end - first)
    for number in range(count):
        low = SourceOffset(first + (end - first) * number // count)
        high = SourceOffset(first + (end - first) * (number + 1) // count)
        yield _range(view, low, high, view.size(high - low), share=share)


def _range(
    view: PartitionView,
    first: SourceOffset,
    end: SourceOffset,
    size: int,
    *,
    share: int = 0,
    probe: bool = False,
) -> PlannedRange:
    tail = view.tail
    return PlannedRange(
        id=view.id,
        topic=view.topic,
        start=first,
        end=end,
        bytes=size,
        shares=size < share,
        probe=probe,
        looks_back=first > view.log_start,
        # Only that of the very batch before it: later ones may have later epochs.
        epoch=tail.epoch if tail is not None and tail.base < first <= tail.last + 1 else -1,
    )


def _within(wanted: Sequence[Iterator[PlannedRange]], most: int) -> tuple[list[PlannedRange], bool]:
    """Take ranges up to `most` bytes: the first of each partition, then the second, and so on.

    Returns:
        The ranges, at least one if there is any, and whether some are left.
    """
    taken, size = list[PlannedRange](), 0
    while wanted:
        goes_on = []
        for ranges in wanted:
            each = next(ranges, None)
            if each is None:
                continue
            if taken and size + each.bytes > most:
                return taken, True
            taken.append(each)
            size += each.bytes
            goes_on.append(ranges)
        wanted = goes_on
    return taken, False


# Tasks


def _packed(ranges: Sequence[PlannedRange], slots: int) -> list[tuple[PlannedRange, ...]]:
    """Return tasks of about the same size; small ranges of a topic stay together.

    There is about one for each slot: a task begins with memory that is new to it, which costs as
    much as the bytes that go into it, and what it has learned of the source helps only itself.
    """
    total = sum(each.bytes for each in ranges)
    aim = min(TASK_BYTES, max(_LEAST_TASK, -(-total // max(1, slots))))
    items: list[tuple[PlannedRange, ...]] = [(each,) for each in ranges if not each.shares]
    small = sorted((each for each in ranges if each.shares), key=lambda each: each.topic)
    for _, members in groupby(small, key=lambda each: each.topic):
        items += _chunks([*members], aim)
    # Large ones first, so that those behind them fill what is left.
    items.sort(key=lambda item: -sum(each.bytes for each in item))
    tasks: list[list[PlannedRange]] = []
    sizes: list[int] = []
    for item in items:
        size = sum(each.bytes for each in item)
        at = next(
            (
                number
                for number, held in enumerate(sizes)
                if held + size <= aim and len(tasks[number]) + len(item) <= _MOST_RANGES
            ),
            None,
        )
        if at is None:
            tasks.append([*item])
            sizes.append(size)
        else:
            tasks[at] += item
            sizes[at] += size
    return [tuple(task) for task in tasks]


def _chunks(members: Sequence[PlannedRange], most: int) -> list[tuple[PlannedRange, ...]]:
    """Cut the small ranges of a topic into groups of at most so many bytes, one object each."""
    return [*portions(members, lambda each: each.bytes, most, _MOST_RANGES)]
