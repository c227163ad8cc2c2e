"""Sums of what was done to records, by the kinds of changes; a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.batch import Table
from towpath.wire.loops import inlined, loop


def kinds_of(rows: Table, first: int) -> list[list[int]]:
    """Return the different kinds of changes in a tally, with the number of records of each.

    Args:
        rows: The rows, which begin with an offset and the offset behind the last record.
        first: The first column that tells a kind.
    """
    found = np.empty((len(rows), rows.shape[1] - first + 1), np.int64)
    return found[: _count(np.ascontiguousarray(rows), first, found)].tolist()  # type: ignore[no-any-return]


@inlined
def _is_of(found: Any, kind: Any, rows: Any, row: Any, first: Any) -> Any:
    """Return whether a row is of a kind."""
    for column in range(found.shape[1] - 1):
        if found[kind, column] != rows[row, first + column]:
            return False
    return True


@loop("int64(int64[:, ::1], int64, int64[:, ::1])")
def _count(rows: Any, first: Any, found: Any) -> Any:
    """Fill `found` with kinds and their sums; return how many there are."""
    count, last = np.int64(0), found.shape[1] - 1
    for row in range(len(rows)):
        kind = np.int64(0)
        while kind < count and not _is_of(found, kind, rows, row, first):
            kind += 1
        if kind == count:
            count += 1
            for column in range(last):
                found[kind, column] = rows[row, first + column]
            found[kind, last] = 0
        found[kind, last] += rows[row, 1] - rows[row, 0]
    return count
