"""Runs of an offset map as tables: joined, split, and cut where the source log was cut. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from towpath.ledger.entries import Gap, Run
from towpath.ledger.packed import Table
from towpath.model.lazy import Lazy
from towpath.model.nouns import TargetOffset
from towpath.model.reasons import ReasonCode

if TYPE_CHECKING:
    import numpy as np
else:
    np = Lazy("numpy")

_SOURCE, _TARGET, _LENGTH = range(3)
_NOT_YET = -1
"""The target offset of a cut of the source log behind which nothing is mirrored yet."""


def is_cut(gap: Gap) -> bool:
    """Return whether a gap tells where the source log was cut."""
    return gap.why.code is ReasonCode.SOURCE_CUT


def stopped_at(gap: Gap) -> bool:
    """Return whether nothing is mirrored that was written behind a cut of the source log."""
    old = gap.target is None
    return is_cut(gap) and (not gap.went_on if old else gap.target == _NOT_YET)


def without_cut(table: Table, gaps: Iterable[Gap]) -> tuple[Table, list[tuple[int, int]]]:
    """Cut runs where the source log was cut: below a target offset, none reaches behind the cut.

    Returns:
        The runs, and the target offsets [first, end) of what was cut off.
    """
    gone: list[tuple[int, int]] = []
    for gap in filter(is_cut, gaps):
        if stopped_at(gap):
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


def last_word(table: Table) -> tuple[Table, tuple[tuple[int, int], ...]]:
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
