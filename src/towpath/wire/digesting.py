"""The digest of records in columns, equal to that of the same records in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.model.digest import STEP, Digest
from towpath.wire.digest import FIRST, absorb, absorb_bytes, finish
from towpath.wire.loops import inlined, loop
from towpath.wire.opened import read_only
from towpath.wire.packing import Rows
from towpath.wire.records import COLUMN


def digest_rows(rows: Rows) -> Digest:
    """Return the digest of the records, with their timestamps (`wire/digest.py`)."""
    unordered, ordered = _fold_rows(
        read_only(rows.times), rows.keys, rows.values, rows.lists, rows.names, rows.contents
    )
    return Digest(len(rows.times), int(unordered), int(ordered))


@inlined
def _absorb_piece(state: Any, column: Any, index: Any) -> Any:
    return absorb_bytes(state, column[1], column[0][index, 0], column[0][index, 1])


@loop(
    "UniTuple(uint64, 2)(Array(int64, 1, 'C', readonly=True),"
    f" {COLUMN}, {COLUMN}, int64[:, ::1], {COLUMN}, {COLUMN})"
)
def _fold_rows(times: Any, keys: Any, values: Any, lists: Any, names: Any, contents: Any) -> Any:
    total = np.uint64(0)
    ordered = np.uint64(0)
    for index in range(len(times)):
        state = absorb(FIRST, np.uint64(times[index]))
        state = _absorb_piece(state, keys, index)
        state = _absorb_piece(state, values, index)
        first, count = lists[index, 0], max(lists[index, 1], 0)
        state = absorb(state, np.uint64(count))
        for header in range(first, first + count):
            state = _absorb_piece(state, names, header)
            state = _absorb_piece(state, contents, header)
        found = finish(state)
        total += found
        ordered = ordered * np.uint64(STEP) + found
    return total, ordered
