"""The ranges of a partition to compare, or to count. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from towpath.compare.work import Range
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Receipt
from towpath.mirror.status.deleted import kept_from, stretch_deleted
from towpath.model.nouns import Mode, SourceOffset, TargetOffset, TopicPartition
from towpath.model.portions import portions

SLICE_BYTES = 128 << 20
_SAMPLE_BYTES = 2 << 20
_SAMPLE_RECORDS = 1000
_SAMPLES = 5
_MOST_RANGES = 64


@dataclass(frozen=True, slots=True)
class Bounds:
    """Log offsets, the first source offset to compare, and whether topics are compacted.

    `target_latest` is the log end of the target, or 0 if empty ranges need no look. `due` is the
    source offset up to which the source's own retention deletes soon. `source_keeps` says that the
    source removes nothing of a compacted topic, as no cleaner runs.
    """

    source_earliest: int
    target_earliest: int
    since: int = 0
    source_compacted: bool = False
    target_compacted: bool = False
    target_latest: int = 0
    due: int = 0
    source_keeps: bool = False

    @property
    def cleaned_alone(self) -> bool:
        """Whether only the target compacts, so that the source keeps what it removes."""
        return self.target_compacted and (self.source_keeps or not self.source_compacted)


@dataclass(frozen=True, slots=True)
class Sized:
    """A range and its approximate size in bytes."""

    part: Range
    bytes: int


def common_range(tp: TopicPartition, books: PartitionBooks, bounds: Bounds) -> Sized | None:
    """Return the copied range that both sides still have, `None` if there is none.

    An empty range is returned if the target has records that only others can have written.
    """
    opened, receipt = books.opened, books.receipt
    if opened is None or receipt is None:
        return None
    offsets, end, target_end = books.offsets(), receipt.source_end, receipt.target_end
    first = max(
        books.start,
        SourceOffset(bounds.source_earliest),
        SourceOffset(bounds.since),
        kept_from(books, bounds.target_earliest),
    )
    if receipt.records == 0 and not books.repairs:
        return _empty(tp, books, bounds)
    first = min(first, end)
    part = Range(
        source=tp,
        target=opened.target,
        ids=books.own,
        writers=frozenset(books.writers),
        first=first,
        end=end,
        target_first=offsets.next_target(first),
        target_end=target_end,
        runs=offsets.runs,
        replaced=offsets.replaced,
        source_compacted=bounds.source_compacted,
        target_compacted=bounds.target_compacted,
        own=books.own,
        following=((opened.producer_id, receipt.sequence),),
        front=_front(books, bounds) if bounds.since == 0 else -1,
        cut=_cut(books),
        refused=_refused(books, first, end),
        due=bounds.due,
    )
    return Sized(part, int(receipt.bytes * _share(books, receipt, first, end)))


def deleted_range(tp: TopicPartition, books: PartitionBooks, bounds: Bounds) -> Sized | None:
    """Return the copied range that only the target has deleted, `None` if there is none.

    Its records are counted at the source, so it needs no place on the target.
    """
    opened, receipt = books.opened, books.receipt
    there = bounds.source_earliest, bounds.target_earliest, bounds.since
    stretch = stretch_deleted(books, *there)
    if opened is None or receipt is None or stretch is None:
        return None
    first, end = stretch
    part = Range(
        source=tp,
        target=opened.target,
        first=first,
        end=end,
        target_first=opened.target_start,
        target_end=opened.target_start,
        runs=(),
        refused=_refused(books, first, end),
        gone=True,
        due=bounds.due,
    )
    return Sized(part, int(receipt.bytes * _share(books, receipt, first, end)))


def _empty(tp: TopicPartition, books: PartitionBooks, bounds: Bounds) -> Sized | None:
    """Return an empty range, behind which the log of the target is looked at."""
    opened = books.opened
    if opened is None or bounds.since or _front(books, bounds) >= bounds.target_latest:
        return None
    at = TargetOffset(_front(books, bounds))
    part = Range(
        source=tp,
        target=opened.target,
        ids=books.own,
        writers=frozenset(books.writers),
        first=opened.source_start,
        end=opened.source_start,
        target_first=at,
        target_end=at,
        runs=(),
        following=((opened.producer_id, 0),),
        cut=_cut(books),
    )
    return Sized(part, 0)


def _front(books: PartitionBooks, bounds: Bounds) -> int:
    """Return the target offset from which on others must not have written.

    Where a link continues a log at its end, as a link back behind a cutover does, what was there
    before is not its own.
    """
    identical = books.mode is Mode.IDENTICAL
    return max(bounds.target_earliest, books.start if identical else 0)


def kept_range(
    tp: TopicPartition, books: PartitionBooks, bounds: Bounds, end: TargetOffset
) -> Sized | None:
    """Return the range of an identical partition up to `end` that both sides still have."""
    opened, receipt = books.opened, books.receipt
    first = SourceOffset(max(books.start, bounds.source_earliest, bounds.target_earliest))
    if opened is None or receipt is None or first >= end:
        return None
    part = Range(
        source=tp,
        target=opened.target,
        ids=books.own,
        writers=frozenset(books.writers),
        first=first,
        end=SourceOffset(end),
        target_first=TargetOffset(first),
        target_end=end,
        runs=((first, TargetOffset(first), end - first),),
        source_compacted=bounds.source_compacted,
        target_compacted=bounds.target_compacted,
        refused=_refused(books, first, end),
    )
    return Sized(part, int(receipt.bytes * _share(books, receipt, first, end)))


def by_change(whole: Sized, books: PartitionBooks) -> list[Sized]:
    """Split a range where its partition was reopened under another change."""
    part, opened = whole.part, books.opened
    first = opened.change if opened is not None else ""
    stretches = [(part.first, first), *((source, digest) for source, _, digest in books.changed)]
    spans, digests = list[tuple[SourceOffset, SourceOffset]](), list[str]()
    ends = [*(start for start, _ in stretches[1:]), part.end]
    for (start, digest), end in zip(stretches, ends, strict=True):
        span = max(start, part.first), min(end, part.end)
        if span[0] < span[1]:
            spans.append(span)
            digests.append(digest)
    if len(spans) < 2:
        return [_under(whole, *(digests or [first]))]
    return [
        _under(each, digest) for each, digest in zip(_between(whole, spans), digests, strict=True)
    ]


def _under(whole: Sized, digest: str) -> Sized:
    return replace(whole, part=replace(whole.part, change=digest))


def _refused(books: PartitionBooks, first: int, end: int) -> tuple[tuple[int, int], ...]:
    return _inside(((each.first, each.end) for each in books.refused), first, end)


def _inside(parts: Iterable[tuple[int, int]], first: int, end: int) -> tuple[tuple[int, int], ...]:
    """Return what of some ranges lies in [first, end)."""
    cut_ = ((max(first, start), min(end, stop)) for start, stop in parts)
    return tuple(part for part in cut_ if part[0] < part[1])


def _cut(books: PartitionBooks) -> int:
    return books.cut.target_end if books.cut is not None else -1


def _share(books: PartitionBooks, receipt: Receipt, first: int, end: int) -> float:
    """Return the approximate share of the copied records between two source offsets."""
    return (end - first) / max(1, receipt.source_end - books.start)


def cut(whole: Sized, size: int = SLICE_BYTES) -> list[Sized]:
    """Split a range into ranges of about `size` bytes; those of compacted topics stay whole."""
    part = whole.part
    if part.source_compacted or part.target_compacted or whole.bytes <= size:
        return [whole]
    count = -(-whole.bytes // size)
    length = max(1, -(-(part.end - part.first) // count))
    borders = [*map(SourceOffset, range(part.first, part.end, length)), part.end]
    return _between(whole, pairwise(borders))


def sample(whole: Sized, seed: int) -> list[Sized]:
    """Return the first, the last and some random short ranges, the same for the same seed."""
    part = whole.part
    length = part.end - part.first
    if length == 0:
        return [whole]
    cell = max(_SAMPLE_RECORDS, length * _SAMPLE_BYTES // max(1, whole.bytes))
    last = (length - 1) // cell
    chooser = random.Random(f"{seed}:{part.source}")  # noqa: S311  # a sample is no secret
    inner = range(1, last)
    chosen = {0, last, *chooser.sample(inner, min(_SAMPLES, len(inner)))}
    spans = [
        (
            SourceOffset(part.first + at * cell),
            min(part.end, SourceOffset(part.first + (at + 1) * cell)),
        )
        for at in sorted(chosen)
    ]
    return _between(whole, spans)


def pack(parts: Sequence[Sized], size: int = SLICE_BYTES) -> Iterator[tuple[Range, ...]]:
    """Group small ranges, so that each slice compares about `size` bytes."""
    for some in portions(parts, lambda one: one.bytes, size, _MOST_RANGES):
        yield tuple(one.part for one in some)


def _between(whole: Sized, spans: Iterable[tuple[SourceOffset, SourceOffset]]) -> list[Sized]:
    part = whole.part
    offsets = part.offsets
    made = []
    for first, end in spans:
        target_first, target_end = offsets.next_target(first), offsets.next_target(end)
        at = part.front if first == part.first and part.front >= 0 else target_first
        one = replace(
            part,
            first=first,
            end=end,
            target_first=target_first,
            target_end=target_end,
            runs=tuple(r for r in part.runs if r[0] < end and r[0] + r[2] > first),
            replaced=tuple(r for r in part.replaced if r[0] < target_end and r[1] > at),
            whole=(first, end) == (part.first, part.end),
            following=part.following if end == part.end else (),
            front=part.front if first == part.first else -1,
            refused=_inside(part.refused, first, end),
        )
        made.append(Sized(one, whole.bytes * (end - first) // (part.end - part.first)))
    return made
