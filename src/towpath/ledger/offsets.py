"""The offset map: translation between source offsets and target offsets of a partition.

It is made of runs: offsets that moved together. It never interpolates. A position between two runs
has no record that was left out without a gap in the ledger, only offsets of markers, of aborted
transactions and of compaction, so it leads behind the run before it, to the same next record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from towpath.ledger.entries import Gap, Run
from towpath.ledger.offset_runs import as_table, is_cut, last_word, stopped_at, without_cut
from towpath.ledger.packed import Table
from towpath.model.lazy import Lazy
from towpath.model.nouns import SourceOffset, TargetOffset

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

O = TypeVar("O", bound=int)  # noqa: E741  # an offset
NOWHERE = -1
"""In place of an offset where there is none."""


class Exactness(StrEnum):
    """The exactness of a translated offset."""

    EXACT = "exact"
    """A consumer that goes on there reads neither a record twice nor one too few."""
    BOUNDED = "bounded"
    """The map no longer tells what was mirrored there; the answer is the next record it knows."""
    BEFORE_START = "before the start"
    NOT_YET = "not yet mirrored"
    LOST = "lost"
    """The records there were never mirrored, or one side no longer has them."""


@dataclass(frozen=True, slots=True)
class TranslatedOffset(Generic[O]):
    """A translated offset of a consumer, and its exactness.

    Attributes:
        offset: Offset of the next record to read on the other side.
        exactness: How far that can be relied on.
        why: A sentence where it is not exact, else "".
        resumes: Offset here of the record that it leads to, where records before that may not be on
            the other side; `NOWHERE` elsewhere.
    """

    offset: O
    exactness: Exactness
    why: str = ""
    resumes: int = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of a partition's mirrored records: first and last offsets on both sides.

    Attributes:
        start: First source offset.
        target_start: Its target offset.
        end: Source offset behind the last one that was looked at.
        target_end: Its target offset.
    """

    start: SourceOffset
    target_start: TargetOffset
    end: SourceOffset
    target_end: TargetOffset


class OffsetMap:
    """Translates offsets of one partition between source and target.

    Args:
        runs: Ascending on both sides; those of a cut source log may lie over others.
        extent: What was mirrored; by default from the first run to the last.
        gaps: Source offsets that were not mirrored.
        log_start: Where the target log begins now, if that is known. Records and runs below it may
            be gone.

    Attributes:
        replaced: Target offsets [first, end) that were mirrored before the source log was cut
            there, and written again.
    """

    def __init__(
        self,
        runs: Iterable[Run] | Table,
        extent: Extent | None = None,
        gaps: Iterable[Gap] = (),
        log_start: TargetOffset | None = None,
    ) -> None:
        gaps = tuple(gaps)
        table, gone = without_cut(as_table(runs), gaps)
        table, replaced = last_word(table)
        self.replaced = tuple(sorted((*gone, *replaced)))
        self._starts, self._targets, lengths = (column.copy() for column in table.T)
        self._ends, self._target_ends = self._starts + lengths, self._targets + lengths
        self._extent = _cut_short(extent or self._whole(), gaps)
        self._gaps = tuple(gap for gap in gaps if _left_out(gap))
        self._log_start = log_start

    @property
    def count(self) -> int:
        """Number of its runs."""
        return len(self._starts)

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs of the map as tuples, without overlaps."""
        lengths = self._ends - self._starts
        columns = (self._starts, self._targets, lengths)
        return tuple(zip(*(column.tolist() for column in columns), strict=True))

    def to_target(self, offset: SourceOffset) -> TranslatedOffset[TargetOffset]:
        """Translate a consumer's source offset to the target: the next record to read."""
        answer = self._to_target(offset)
        start = self._log_start
        if start is None or answer.offset >= start:
            return answer
        if self.next_target(offset) >= start:
            return replace(answer, offset=start)
        why = f"the target has deleted offsets {answer.offset} to {start - 1}"
        return TranslatedOffset(start, Exactness.LOST, why, self.next_source(start))

    def _to_target(self, offset: SourceOffset) -> TranslatedOffset[TargetOffset]:
        for gap in self._gaps:
            if gap.first <= offset < gap.end:
                why = f"offsets {gap.first} to {gap.end - 1} were not mirrored: {gap.cause}"
                following = self.next_target(offset)
                resumes = max(int(gap.end), int(self.next_source(following)))
                return TranslatedOffset(following, Exactness.LOST, why, resumes)
        extent = self._extent
        if offset < extent.start:
            return _before_start(extent.target_start, extent.start)
        if offset > extent.end:
            return _not_yet(extent.target_end, extent.end)
        if offset == extent.end:
            return TranslatedOffset(extent.target_end, Exactness.EXACT)
        found = _behind_run(offset, self._starts, self._ends, self._targets)
        following = self.next_target(offset)
        if found is None:
            return self._at_front(following, offset, self.next_source(following))
        gone = any(first < following and found < end for first, end in self.replaced)
        return TranslatedOffset(following if gone else TargetOffset(found), Exactness.EXACT)

    def to_source(self, offset: TargetOffset) -> TranslatedOffset[SourceOffset]:
        """Translate a consumer's target offset to the source: the next record to read."""
        for first, end in self.replaced:
            if first <= offset < end:
                why = f"offsets {first} to {end - 1} were mirrored before the source log was cut"
                here = self.next_source(offset)
                return TranslatedOffset(here, Exactness.LOST, why, self.next_target(here))
        extent = self._extent
        if offset < extent.target_start:
            return _before_start(extent.start, extent.target_start)
        if offset > extent.target_end:
            return _not_yet(extent.end, extent.target_end)
        if offset == extent.target_end:
            return TranslatedOffset(extent.end, Exactness.EXACT)
        found = _behind_run(offset, self._targets, self._target_ends, self._starts)
        if found is None:
            here = self.next_source(offset)
            return self._at_front(here, offset, self.next_target(here))
        return TranslatedOffset(SourceOffset(found), Exactness.EXACT)

    def _at_front(self, following: O, offset: int, resumes: int) -> TranslatedOffset[O]:
        """Translate a position before the first run; runs of deleted records are not kept."""
        if self._log_start is not None and self._log_start <= self._extent.target_start:
            return TranslatedOffset(following, Exactness.EXACT)
        why = f"it is no longer known what was mirrored at offset {offset}"
        return TranslatedOffset(following, Exactness.BOUNDED, why, resumes)

    def targets(self, offsets: Table) -> Table:
        """Return the target offset of each source record, `NOWHERE` for records not mirrored."""
        return _of_records(offsets, self._starts, self._ends, self._targets)

    def sources(self, offsets: Table) -> Table:
        """Return the source offset of each target record, `NOWHERE` for other writers' records."""
        return _of_records(offsets, self._targets, self._target_ends, self._starts)

    def next_target(self, offset: SourceOffset) -> TargetOffset:
        """Return the target offset of the first mirrored record at or after a source offset."""
        extent = self._extent
        found = _at_or_behind(offset, self._starts, self._ends, self._targets)
        if found is None or offset >= extent.end:
            return extent.target_end
        return min(TargetOffset(found), extent.target_end)

    def next_source(self, offset: TargetOffset) -> SourceOffset:
        """Return the source offset of the first mirrored record at or after a target offset."""
        extent = self._extent
        found = _at_or_behind(offset, self._targets, self._target_ends, self._starts)
        if found is None or offset >= extent.target_end:
            return extent.end
        return min(SourceOffset(found), extent.end)

    def _whole(self) -> Extent:
        if not len(self._starts):
            return Extent(SourceOffset(0), TargetOffset(0), SourceOffset(0), TargetOffset(0))
        return Extent(
            SourceOffset(int(self._starts[0])),
            TargetOffset(int(self._targets[0])),
            SourceOffset(int(self._ends[-1])),
            TargetOffset(int(self._target_ends[-1])),
        )


def _left_out(gap: Gap) -> bool:
    """Whether records were not mirrored; where the source log was cut they were, before that."""
    return gap.end > gap.first and not is_cut(gap)


def _cut_short(extent: Extent, gaps: Iterable[Gap]) -> Extent:
    """Return what was mirrored of the source log as it is since it was cut."""
    cuts = [gap.first for gap in gaps if stopped_at(gap)]
    return replace(extent, end=min([extent.end, *cuts]))


def _behind_run(offset: int, starts: Table, ends: Table, other: Table) -> int | None:
    """Translate a position in a run or anywhere behind one; `None` before the first run."""
    index = bisect_right(starts, offset) - 1
    if index < 0:
        return None
    return int(other[index] + min(offset, int(ends[index])) - starts[index])


def _of_records(offsets: Table, starts: Table, ends: Table, other: Table) -> Table:
    if not len(starts):
        return np.full(len(offsets), NOWHERE, np.int64)
    index = np.searchsorted(starts, offsets, "right") - 1
    inside = (index >= 0) & (offsets < ends[index])
    return np.where(inside, offsets - starts[index] + other[index], NOWHERE)


def _at_or_behind(offset: int, starts: Table, ends: Table, other: Table) -> int | None:
    index = bisect_right(ends, offset)
    if index == len(ends):
        return None
    return int(other[index] + max(0, offset - starts[index]))


def _before_start(there: O, start: int) -> TranslatedOffset[O]:
    why = f"mirroring began at offset {start}"
    return TranslatedOffset(there, Exactness.BEFORE_START, why, start)


def _not_yet(there: O, end: int) -> TranslatedOffset[O]:
    return TranslatedOffset(there, Exactness.NOT_YET, f"mirrored up to offset {end} so far")
