"""Counts of what a change did to source records, by offset.

A batch is not always sent whole, so what is counted can be cut at any offset: each part of a batch
counts what was done to its own records, and no record is ever counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from towpath.model.changes import BadRecord
from towpath.wire.batch import NO_END, Table
from towpath.wire.ids import CAUSES
from towpath.wire.loops import inlined

FIRST, END, FATE, KEY, VALUE, IDS, HEADERS, REDACTED = range(8)
"""Columns of the rows: source offsets [FIRST, END), and what was done to each of their records.
`KEY` and `VALUE` tell why the id there stays as it is, 0 if it does not."""
COLUMNS = 8
BROUGHT, KEPT, LEFT_OUT, ASIDE, DROPPED = range(-1, 4)
"""Fates. `BROUGHT` are records that the twin of the link wrote. To `DROPPED` the number of the rule
is added. `KEY` tells why a record is set aside."""
WAIVED = 100
"""Added to the number of a cause (`ids.CAUSES`) for which an id passes by a decision."""
_BAD = tuple(BadRecord)


@dataclass(frozen=True, slots=True, eq=False)
class OffsetTally:
    """Counts of changes in runs of adjacent records with the same changes.

    Attributes:
        rows: The runs, by ascending offset, with the columns above.
        rules: The names of the rules that drop records.
    """

    rows: Table
    rules: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    def between(self, first: int, end: int) -> OffsetTally:
        """Return the counts for a range of source offsets."""
        rows = self.rows
        if not self or (rows[0, FIRST] >= first and rows[-1, END] <= end):
            return self
        low = np.searchsorted(rows[:, END], first, "right")
        high = np.searchsorted(rows[:, FIRST], end)
        found = rows[low:high].copy()
        found[:, FIRST] = np.maximum(found[:, FIRST], first)
        found[:, END] = np.minimum(found[:, END], end)
        return OffsetTally(found, self.rules)

    def without(self, first: int, end: int) -> OffsetTally:
        """Return the counts outside a range of source offsets."""
        return self.between(0, first).then(self.between(end, NO_END))

    def cut(self, ends: Sequence[int]) -> list[OffsetTally]:
        """Return the counts split at ascending offsets."""
        if not self:
            return [self] * len(ends)
        firsts = [0, *ends[:-1]]
        stops = [*ends[:-1], NO_END]
        return [self.between(first, end) for first, end in zip(firsts, stops, strict=True)]

    def then(self, other: OffsetTally) -> OffsetTally:
        """Return these counts together with those of later records."""
        if not (self and other):
            return self or other
        return OffsetTally(np.concatenate((self.rows, other.rows)), self.rules or other.rules)

    def by_kind(self) -> tuple[tuple[str, int], ...]:
        """Return the counts by kind, as in receipts, with rules of one name merged."""
        counts = Counter[str]()
        if len(self.rows) == 1:  # as most batches have
            first, end, *what = self.rows[0].tolist()
            self._count(what, end - first, counts)
        elif self:
            # Its loop takes a moment to load, which a slice without changes does not need.
            from towpath.wire.kinds import kinds_of  # noqa: PLC0415

            for *what, records in kinds_of(self.rows, FATE):
                self._count(what, records, counts)
        return tuple(sorted((+counts).items()))

    def _count(self, row: list[int], records: int, counts: Counter[str]) -> None:
        fate, key, value, ids, headers, redacted = row
        if fate == BROUGHT:
            counts["twin"] += records
        elif fate >= DROPPED:
            counts[f"dropped:{self.rules[fate - DROPPED]}"] += records
        elif fate == ASIDE:
            counts[f"quarantined:{_BAD[key - 1]}"] += records
        elif fate == LEFT_OUT:
            counts["refused"] += records
        else:
            counts.update(ids=ids * records, headers=headers * records)
            counts["redacted"] += redacted * records
            counts.update({_why(each): records for each in (key,) if each})
            counts.update({_why(each): records for each in (value,) if each})


NOTHING_DONE = OffsetTally(np.empty((0, COLUMNS), np.int64))


def brought(first: int, records: int) -> OffsetTally:
    """Return the count of records from a source offset on that the twin of the link wrote."""
    if not records:
        return NOTHING_DONE
    row = np.zeros((1, COLUMNS), np.int64)
    row[0, FIRST], row[0, END], row[0, FATE] = first, first + records, BROUGHT
    return OffsetTally(row)


def tallied(tallies: Iterable[OffsetTally]) -> OffsetTally:
    """Return the counts of consecutive records."""
    parts = [each for each in tallies if each]
    if len(parts) < 2:
        return parts[0] if parts else NOTHING_DONE
    rules = next((each.rules for each in parts if each.rules), ())
    return OffsetTally(np.concatenate([each.rows for each in parts]), rules)


def _why(code: int) -> str:
    if code > WAIVED:
        return f"unchanged_ids:{CAUSES[code - WAIVED - 1]}"
    return f"bad_ids:{_BAD[code - 1]}"


@inlined
def note(
    rows: Any, count: Any, offset: Any, fate: Any, key: Any, value: Any, ids: Any, headers: Any,
    redacted: Any,
) -> Any:  # fmt: skip
    """Add a record's changes to the first `count` rows; return the new number of rows."""
    if count > 0:
        row = rows[count - 1]
        same = row[END] == offset and row[FATE] == fate and row[KEY] == key and row[VALUE] == value
        if same and row[IDS] == ids and row[HEADERS] == headers and row[REDACTED] == redacted:
            row[END] = offset + 1
            return count
    row = rows[count]
    row[FIRST], row[END], row[FATE] = offset, offset + 1, fate
    row[KEY], row[VALUE], row[IDS] = key, value, ids
    row[HEADERS], row[REDACTED] = headers, redacted
    return count + 1
