"""The offset map: which target offset belongs to which source offset, exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from towpath.ledger.entries import Run
from towpath.ledger.packed import Table

_SOURCE, _TARGET, _LENGTH = range(3)


class Exactness(StrEnum):
    """How far an answer can be relied on."""

    EXACT = "exact"
    BOUNDED = "bounded"
    BEFORE_START = "before the start"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """A translated offset; a bounded one is that of the next record that exists there."""

    offset: int
    exactness: Exactness
    why: str = ""


class OffsetMap:
    """All runs of one partition, ascending and without overlap.

    Args:
        table: A row for each run: source start, target start, length.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    @classmethod
    def of(cls, runs: Iterable[Run] | Table) -> OffsetMap:
        """Build a map of runs that may come twice, in any order, shorter and longer."""
        table = np.array(runs if isinstance(runs, np.ndarray) else list(runs), np.int64)
        table = table.reshape(-1, 3)
        table = table[table[:, _LENGTH] > 0]
        return cls(_joined(table[np.lexsort(table.T[::-1])]))

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs as tuples; far larger than the table."""
        return tuple((start, there, length) for start, there, length in self.table.tolist())

    def to_target(self, offset: int) -> Answer:
        """Translate a source offset (that of the next record to read)."""
        return self._translate(offset, _SOURCE, _TARGET)

    def to_source(self, offset: int) -> Answer:
        """Translate a target offset (that of the next record to read)."""
        return self._translate(offset, _TARGET, _SOURCE)

    def _translate(self, offset: int, here: int, there: int) -> Answer:
        if not len(self.table):
            return Answer(-1, Exactness.UNKNOWN, "nothing was copied yet")
        index = bisect_right(self.table[:, here], offset) - 1
        if index < 0:
            start, other, _ = self._run(0, here, there)
            return Answer(other, Exactness.BEFORE_START, f"the first run begins at {start}")
        start, other, length = self._run(index, here, there)
        if offset <= start + length:
            return Answer(other + offset - start, Exactness.EXACT)
        end = start + length
        if index + 1 < len(self.table):
            following, other, _ = self._run(index + 1, here, there)
            text = f"no record was copied between {end} and {following}"
            return Answer(other, Exactness.BOUNDED, text)
        return Answer(other + length, Exactness.UNKNOWN, f"copied up to {end} so far")

    def _run(self, index: int, here: int, there: int) -> Run:
        row = self.table[index]
        return int(row[here]), int(row[there]), int(row[_LENGTH])


def _joined(table: Table) -> Table:
    """Join sorted runs that continue or repeat each other."""
    if len(table) < 2:  # nothing to join
        return table
    starts, shifts = table[:, _SOURCE], table[:, _TARGET] - table[:, _SOURCE]
    ends = np.maximum.accumulate(starts + table[:, _LENGTH])
    alike = shifts[1:] == shifts[:-1]
    if (~alike & (starts[1:] < ends[:-1])).any():
        return _joined_slowly(table)
    first = np.concatenate(([True], ~(alike & (starts[1:] <= ends[:-1]))))
    joined = table[first]
    last = np.concatenate((np.flatnonzero(first)[1:], [len(table)])) - 1
    joined[:, _LENGTH] = ends[last] - joined[:, _SOURCE]
    return joined


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
