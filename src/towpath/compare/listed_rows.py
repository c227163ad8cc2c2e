"""The comparison of the rows of one source partition in one target partition, one by one. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from towpath.compare.row_sums import RowList
from towpath.wire.digest import Hashes


@dataclass(frozen=True, slots=True)
class Allowed:
    """Why rows may be missing on one side.

    Attributes:
        front: The target may have rows from before those that were made again.
        front_gone: The target may lack the first of them, as it has deleted the start of its log.
        source_compacts: The source may have compacted away what rows on the target were made of.
        target_compacts: The target may have compacted away rows.
    """

    front: bool = False
    front_gone: bool = False
    source_compacts: bool = False
    target_compacts: bool = False


@dataclass(slots=True)
class ListedRows:
    """What a comparison row by row found.

    Attributes:
        equal: Rows on both sides.
        missing: Hashes of rows that the target lacks, each as often as it does.
        extra: Hashes of rows on the target alone, likewise.
        doubled: Rows that the target has more often.
        moved: Rows that stand in another order.
        expired: Rows on the target that were made of records which the source no longer has.
        deleted: Rows that the target deleted with the start of its log.
        compacted: Rows that the target compacted away, as later ones have their keys.
        unproven: Rows that it may have compacted away.
        first: Target offset of the first difference, -1 for none or behind the last row.
    """

    equal: int = 0
    missing: Counter[int] = field(default_factory=Counter)
    extra: Counter[int] = field(default_factory=Counter)
    doubled: int = 0
    moved: int = 0
    expired: int = 0
    deleted: int = 0
    compacted: int = 0
    unproven: int = 0
    first: int = -1


def compare_lists(made: RowList, there: RowList, allowed: Allowed, *, timed: bool) -> ListedRows:
    """Compare what a query makes now with what is on the target.

    Args:
        made: What it makes; the places are hashes of keys.
        there: What is on the target.
        allowed: Why rows may be missing on one side.
        timed: Whether timestamps count.
    """
    wanted, has = (each.timed if timed else each.plain for each in (made, there))
    found, start, begin = ListedRows(), 0, 0
    if allowed.front and not allowed.source_compacts:
        start = _first_of(has, wanted)
        found.expired = start
    if allowed.front_gone:
        begin = _first_of(wanted, has)
        found.deleted = begin
    return _Comparing(found, made, wanted, has, begin, start, allowed).run(there)


class _Comparing:
    def __init__(
        self,
        found: ListedRows,
        made: RowList,
        wanted: Hashes,
        has: Hashes,
        begin: int,
        start: int,
        allowed: Allowed,
    ) -> None:
        self._found, self._allowed, self._start = found, allowed, start
        self._wanted, self._has = wanted[begin:], has[start:]
        self._keys = made.places[begin:]

    def run(self, there: RowList) -> ListedRows:
        found = self._found
        lacks, more = _surplus(self._wanted, self._has), _surplus(self._has, self._wanted)
        found.equal = len(self._wanted) - len(lacks)
        if self._allowed.source_compacts:
            found.expired += len(more)
        else:
            self._note_more(more)
        if self._allowed.target_compacts:
            self._note_compacted(lacks)
        else:
            found.missing = Counter(self._wanted[lacks].tolist())
        common_here = np.delete(self._wanted, lacks)
        common_there = np.delete(self._has, more)
        found.moved = int((common_here != common_there).sum())
        if found.missing or found.extra or found.doubled or found.moved:
            found.first = self._first_difference(there)
        return found

    def _note_more(self, more: Sequence[int]) -> None:
        known = set(self._wanted.tolist()) if len(more) else set()
        for each in self._has[more].tolist():
            if each in known:
                self._found.doubled += 1
            else:
                self._found.extra[each] += 1

    def _note_compacted(self, lacks: Sequence[int]) -> None:
        """Tell rows behind which a later one has their key from those that prove nothing."""
        last = {key: number for number, key in enumerate(self._keys.tolist())}
        later = sum(last[int(self._keys[number])] > number for number in lacks)
        self._found.compacted = later
        self._found.unproven = len(lacks) - later

    def _first_difference(self, there: RowList) -> int:
        most = min(len(self._wanted), len(self._has))
        differ = np.flatnonzero(self._wanted[:most] != self._has[:most])
        at = self._start + (int(differ[0]) if len(differ) else most)
        return int(there.places[at]) if at < len(there.places) else -1


def _first_of(rows: Hashes, others: Hashes) -> int:
    """Return the number of the first row that is among others, or of all rows."""
    known = np.flatnonzero(np.isin(rows, others))
    return int(known[0]) if len(known) else len(rows)


def _surplus(rows: Hashes, others: Hashes) -> list[int]:
    """Return the numbers of rows that are there more often than among others: the first of each."""
    kinds, which = np.unique(np.concatenate([rows, others]), return_inverse=True)
    here = np.bincount(which[: len(rows)], minlength=len(kinds))
    there = np.bincount(which[len(rows) :], minlength=len(kinds))
    over = np.maximum(here - there, 0)
    found = []
    for number in np.flatnonzero(over[which[: len(rows)]]).tolist():
        kind = which[number]
        if over[kind]:
            over[kind] -= 1
            found.append(number)
    return found
