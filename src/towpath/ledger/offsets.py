"""The offset map: translation between source offsets and target offsets of a partition.

It is made of runs: offsets that moved together. It never interpolates. A position between two runs
has no record that was left out without a gap in the ledger, only offsets of markers, of aborted
transactions and of compaction, so it leads behind the run before it, to the same next record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from towpath.ledger.entries import Gap, Run
from towpath.ledger.packed import Table
from towpath.model.lazy import Lazy
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import ReasonCode

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

O = TypeVar("O", bound=int)  # noqa: E741  # an offset
NOWHERE = -1
"""In place of an offset where there is none."""

_SOURCE, _TARGET, _LENGTH = range(3)


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
        table, gone = _without_cut(as_table(runs), gaps)
        table, replaced = _last_word(table)
        self.replaced = tuple(sorted((*gone, *replaced)))
        self._starts, self._targets, lengths = (column.copy() for column in table.T)
        self._ends, self._target_ends = self._starts + lengths, self._targets + lengths
        self._extent = _cut_short(extent or self._whole(), gaps)
        self._gaps = tuple(gap for gap in gaps if _left_out(gap))
        self._log_start = log_start

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
    return gap.end > gap.first and not _is_cut(gap)


def _is_cut(gap: Gap) -> bool:
    return gap.why.code is ReasonCode.SOURCE_CUT


def _stopped_at(gap: Gap) -> bool:
    """Whether nothing of what was written again behind a cut of the source log is mirrored."""
    old = gap.target is None
    return _is_cut(gap) and (not gap.went_on if old else gap.target == NOWHERE)


def _cut_short(extent: Extent, gaps: Iterable[Gap]) -> Extent:
    """Return what was mirrored of the source log as it is since it was cut."""
    cuts = [gap.first for gap in gaps if _stopped_at(gap)]
    return replace(extent, end=min([extent.end, *cuts]))


def _without_cut(table: Table, gaps: Iterable[Gap]) -> tuple[Table, list[tuple[int, int]]]:
    """Cut runs where the source log was cut: below a target offset, none reaches behind the cut.

    Returns:
        The runs, and the target offsets [first, end) of what was cut off.
    """
    gone: list[tuple[int, int]] = []
    for gap in filter(_is_cut, gaps):
        if _stopped_at(gap):
            old = np.full(len(table), fill_value=True)
        elif gap.target is None:  # an older version did not tell where copying went back
            continue
        else:
            table = _split(table, gap.target)
            old = table[:, _TARGET] < gap.target
        left = np.clip(gap.first - table[:, _SOURCE], 0, table[:, _LENGTH])
        shorter = old & (left < table[:, _LENGTH])
        ends = table[shorter, _TARGET] + table[shorter, _LENGTH]
        gone += zip((table[:, _TARGET] + left)[shorter].tolist(), ends.tolist(), strict=True)
        table = table.copy()
        table[shorter, _LENGTH] = left[shorter]
        table = table[table[:, _LENGTH] > 0]
    return table, gone


def _split(table: Table, at: TargetOffset) -> Table:
    """Split the runs that reach across a target offset."""
    across = (table[:, _TARGET] < at) & (table[:, _TARGET] + table[:, _LENGTH] > at)
    lower, upper = table[across], table[across]
    done = at - lower[:, _TARGET]
    lower[:, _LENGTH] = done
    upper += np.stack((done, done, -done), axis=1)
    return np.concatenate((table[~across], lower, upper))


def as_table(runs: Iterable[Run] | Table) -> Table:
    """Return runs as rows of source start, target start, length."""
    made = np.array(runs if isinstance(runs, np.ndarray) else list(runs), np.int64)
    return made.reshape(-1, 3)


def joined(runs: Iterable[Run] | Table) -> Table:
    """Merge runs of an offset map that continue or repeat each other.

    Args:
        runs: In any order; one may come several times, shorter and longer.
    """
    table = as_table(runs)
    table = table[table[:, _LENGTH] > 0]
    table = table[np.lexsort(table.T[::-1])]
    if len(table) < 2:  # nothing to join
        return table
    starts, shifts = table[:, _SOURCE], table[:, _TARGET] - table[:, _SOURCE]
    ends = np.maximum.accumulate(starts + table[:, _LENGTH])
    alike = shifts[1:] == shifts[:-1]
    if (~alike & (starts[1:] < ends[:-1])).any():
        return _joined_slowly(table)
    first = np.concatenate(([True], ~(alike & (starts[1:] <= ends[:-1]))))
    found = table[first]
    last = np.concatenate((np.flatnonzero(first)[1:], [len(table)])) - 1
    found[:, _LENGTH] = ends[last] - found[:, _SOURCE]
    return found


def _joined_slowly(table: Table) -> Table:
    """Join runs of which some lie over others, as where the source's log was cut."""
    kept: list[list[int]] = []
    for start, there, length in table.tolist():
        last = kept[-1] if kept else None
        if last and last[1] - last[0] == there - start and start <= last[0] + last[2]:
            last[2] = max(last[2], start + length - last[0])
        else:
            kept.append([start, there, length])
    return np.array(kept, np.int64)


def _last_word(table: Table) -> tuple[Table, tuple[tuple[int, int], ...]]:
    """Cut runs so that none lies over another: what was mirrored later holds.

    Runs lie over each other where the source log was cut and written again.

    Returns:
        The runs, ascending on both sides, and the target offsets [first, end) of what was cut off.
    """
    table = table[np.argsort(table[:, _TARGET], kind="stable")]
    if not (table[1:, _SOURCE] < (table[:-1, _SOURCE] + table[:-1, _LENGTH])).any():
        return table, ()
    kept: list[Sequence[int]] = []
    replaced: list[tuple[int, int]] = []
    for run in table.tolist():
        while kept and kept[-1][0] + kept[-1][2] > run[0]:
            start, target, length = kept.pop()
            left = max(0, run[0] - start)
            replaced.append((target + left, target + length))
            if left:
                kept.append((start, target, left))
        kept.append(run)
    return as_table(np.array(kept, np.int64)), tuple(sorted(replaced))


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
