"""Source offsets beside target offsets: the runs of a range, for many offsets at once. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from towpath.ledger.entries import Run
from towpath.wire.batch import Table

NOWHERE = -1


def last_word(runs: Iterable[Run]) -> tuple[tuple[Run, ...], tuple[tuple[int, int], ...]]:
    """Cut runs so that none lies over another: what was copied later holds.

    Runs lie over each other when the source log was cut and written again.

    Returns:
        The runs, ascending on both sides, and the target offsets [first, end) of what was cut off.
    """
    kept: list[Run] = []
    replaced: list[tuple[int, int]] = []
    for run in sorted(runs, key=lambda run: run[1]):
        while kept and kept[-1][0] + kept[-1][2] > run[0]:
            start, target, length = kept.pop()
            left = max(0, run[0] - start)
            replaced.append((target + left, target + length))
            if left:
                kept.append((start, target, left))
        kept.append(run)
    return tuple(kept), tuple(sorted(replaced))


class Line:
    """Translates offsets between the sides.

    Args:
        runs: Ascending on both sides, none over another.
        end: Source offset behind the last one.
        target_end: Target offset behind the last one.
    """

    def __init__(self, runs: Iterable[Run], end: int, target_end: int) -> None:
        self._end, self._target_end = end, target_end
        table = np.array(list(runs), np.int64).reshape(-1, 3)
        self._starts, self._targets, lengths = (column.copy() for column in table.T)
        self._ends = self._starts + lengths
        self._target_ends = self._targets + lengths

    def to_target(self, offsets: Table) -> Table:
        """Return the target offset of each source record, -1 where none was copied."""
        return _exact(offsets, self._starts, self._ends, self._targets)

    def to_source(self, offsets: Table) -> Table:
        """Return the source offset of each target record, -1 where none was copied from."""
        return _exact(offsets, self._targets, self._target_ends, self._starts)

    def forward(self, offset: int) -> int:
        """Return the target offset of the first copied record at or behind a source offset."""
        if offset >= self._end:
            return self._target_end
        found = _at_or_behind(offset, self._starts, self._ends, self._targets)
        return self._target_end if found is None else min(found, self._target_end)

    def backward(self, offset: int) -> int:
        """Return the source offset of the first copied record at or behind a target offset."""
        if offset >= self._target_end:
            return self._end
        found = _at_or_behind(offset, self._targets, self._target_ends, self._starts)
        return self._end if found is None else min(found, self._end)


def _exact(offsets: Table, starts: Table, ends: Table, other: Table) -> Table:
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
