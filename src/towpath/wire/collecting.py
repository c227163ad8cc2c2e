"""A compiled loop that collects the visible records of many batches as columns.

Keys, values and headers are not copied: Arrow's views name the buffer and the position where they
lie, and hold short ones themselves. The pass also notes which offsets hold no record, and why, and
computes the digest of the records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.model.digest import STEP
from towpath.wire import framing, opened, rows, sifting
from towpath.wire.batch import LOG_APPEND_TIME
from towpath.wire.copying import lead
from towpath.wire.digest import record_hash
from towpath.wire.loops import READ_ONLY, inlined, loop

NEXT, END, BEFORE, GAPS, RAW, ROWS, HEADERS, FIRST, LAST, MIN_TIME, MAX_TIME = range(11)
"""State of a collection: the next offset, the end of the range, the last offset that was seen, rows
of the gap table of one pass, bytes of all records; then, of the rows that wait: their number, that
of their headers, the first and the last offset, the lowest and the highest timestamp."""
NULLS = 11
"""Place of the number of null keys among the rows that wait; null values and headers follow."""
STATE = 14

_SHORT = 12
"""Most bytes that a view holds itself (Arrow's columnar format, "Variable-size Binary View")."""
RECORD_BYTES = 16
"""What a record counts besides its key, value and headers, as the size limits of segments say."""
NO_TIME = -1

REASONS = (
    "",
    "its offsets do not follow those of the batch before it",
    "its record offsets do not ascend, or are beyond its last offset",
)

_VIEWS = "uint32[:, ::1]"
_FIXED = "Tuple((int64[::1], int64[::1], int32[::1], int32[::1], int32[::1], int32[::1]))"


@inlined
def _view(data: Any, at: Any, size: Any, number: Any, views: Any, index: Any) -> None:
    """Write the view of some bytes, or of null if the size is negative."""
    views[index, 0] = np.uint32(max(size, 0))
    if size > _SHORT:
        views[index, 1] = lead(data, at, np.int64(4))
        views[index, 2] = np.uint32(number)
        views[index, 3] = np.uint32(at)
    elif at + _SHORT <= len(data):  # whole words, of which the last bytes are not ours
        for i in range(3):
            bits = np.uint64(8 * min(max(size - 4 * i, 0), 4))
            mask = np.uint32((np.uint64(1) << bits) - np.uint64(1))
            views[index, 1 + i] = lead(data, at + 4 * i, np.int64(4)) & mask
    else:
        for i in range(3):
            views[index, 1 + i] = lead(data, at + 4 * i, min(max(size - 4 * i, 0), 4))


@inlined
def _mark(bits: Any, index: Any, size: Any) -> Any:
    """Set the bit of bytes that are not null. Returns 1 if they are null."""
    if size < 0:
        return 1
    bits[index >> 3] |= np.uint8(1 << (index & 7))
    return 0


@inlined
def _gap(gaps: Any, state: Any, end: Any, kind: Any) -> None:
    """Note that the offsets from the next one to `end` hold no record."""
    end = min(end, state[END])
    count = state[GAPS]
    if end <= state[NEXT]:
        return
    if count and gaps[count - 1, 1] == state[NEXT] and gaps[count - 1, 2] == kind:
        gaps[count - 1, 1] = end
    else:
        gaps[count, 0], gaps[count, 1], gaps[count, 2] = state[NEXT], end, kind
        state[GAPS] += 1
    state[NEXT] = end


@inlined
def _schema_id(data: Any, at: Any, size: Any) -> Any:
    """Return the schema id that a value begins with, framed as Confluent does, or -1."""
    if size < framing.CONFLUENT_SIZE or data[at] != 0:
        return np.int32(-1)
    found = np.int32(framing.word(data, at + 1, 4))
    return found if found > 0 else np.int32(-1)


@inlined
def _put_headers(data: Any, row: Any, number: Any, views: Any, valid: Any, state: Any) -> None:
    position, end = row[rows.HEADERS_AT], np.int64(len(data))
    for _ in range(row[rows.HEADERS]):
        index = state[HEADERS]
        size, at, position = rows.piece(data, position, end)
        _view(data, at, size, number, views[0], index)
        state[RAW] += size
        size, at, position = rows.piece(data, position, end)
        _view(data, at, size, number, views[1], index)
        state[RAW] += max(size, 0)
        state[NULLS + 2] += _mark(valid, index, size)
        state[HEADERS] += 1


@inlined
def _put_row(
    data: Any, row: Any, number: Any, fixed: Any, views: Any, valid: Any, state: Any
) -> None:
    """Write key, value and numbers of a record, but neither its batch's nor its headers."""
    index = state[ROWS]
    fixed[0][index], fixed[1][index] = row[rows.OFFSET], row[rows.TIME]
    at, size = row[rows.VALUE_AT], row[rows.VALUE_SIZE]
    fixed[4][index] = _schema_id(data, at, size)
    _view(data, at, size, number, views[1], index)
    state[NULLS + 1] += _mark(valid[1], index, size)
    state[RAW] += max(size, 0) + max(row[rows.KEY_SIZE], 0) + RECORD_BYTES
    at, size = row[rows.KEY_AT], row[rows.KEY_SIZE]
    _view(data, at, size, number, views[0], index)
    state[NULLS] += _mark(valid[0], index, size)
    state[FIRST] = min(state[FIRST], row[rows.OFFSET])
    state[LAST] = row[rows.OFFSET]
    if row[rows.TIME] != NO_TIME:
        state[MIN_TIME] = min(state[MIN_TIME], row[rows.TIME])
        state[MAX_TIME] = max(state[MAX_TIME], row[rows.TIME])


@inlined
def _disorder(base: Any, last: Any, table: Any, state: Any) -> Any:
    """Return a reason why a batch does not follow those before it, or 0."""
    if base <= state[BEFORE]:
        return 1
    before = base - 1
    for r in range(len(table)):
        offset = table[r, rows.OFFSET]
        if offset <= before or offset > last:
            return 2
        before = offset
    state[BEFORE] = last
    return 0


@inlined
def _collect_batch(
    data: Any,
    batch: Any,
    told: Any,
    table: Any,
    number: Any,
    fixed: Any,
    views: Any,
    header_views: Any,
    valid: Any,
    gaps: Any,
    state: Any,
    fold: Any,
) -> Any:
    """Collect the records of one batch; `told` is its kind and leader epoch. Returns a reason."""
    base, last = batch[opened.BASE], batch[opened.BASE] + batch[opened.LAST_DELTA]
    reason = _disorder(base, last, table, state)
    if reason:
        return reason
    kind = np.int64(sifting.COMPACTED)
    _gap(gaps, state, base, kind)
    if told[0] != sifting.RECORDS:
        kind = told[0]
    time_type = np.int32(1 if batch[opened.ATTRIBUTES] & LOG_APPEND_TIME else 0)
    for r in range(len(table)):
        row = table[r]
        offset = row[rows.OFFSET]
        if offset < state[NEXT] or offset >= state[END]:
            continue
        _gap(gaps, state, offset, kind)
        index = state[ROWS]
        _put_row(data, row, number, fixed, views, valid, state)
        fixed[2][index], fixed[3][index] = time_type, np.int32(told[1])
        _put_headers(data, row, number, header_views, valid[2], state)
        fixed[5][index + 1] = np.int32(state[HEADERS])
        if len(fold):  # or nobody asks for a digest
            found = record_hash(data, row, True)
            fold[0] += found
            fold[1] = fold[1] * np.uint64(STEP) + found
        state[ROWS] += 1
        state[NEXT] = offset + 1
    _gap(gaps, state, last + 1, kind)
    return 0


@loop(
    f"UniTuple(int64, 2)({READ_ONLY}, int64[:, ::1], int64[:, ::1], int64[:, ::1], int64, {_FIXED},"
    f" UniTuple({_VIEWS}, 2), UniTuple({_VIEWS}, 2), UniTuple(uint8[::1], 3), int64[:, ::1],"
    " int64[::1], uint64[::1])"
)
def collect(
    data: Any,
    batches: Any,
    told: Any,
    table: Any,
    number: Any,
    fixed: Any,
    views: Any,
    header_views: Any,
    valid: Any,
    gaps: Any,
    state: Any,
    fold: Any,
) -> Any:
    """Collect records; return a bad batch and the reason's number, or -1 and 0."""
    at = 0
    for b in range(len(batches)):
        count = batches[b, opened.COUNT]
        part = table[at : at + count]
        reason = _collect_batch(
            data, batches[b], told[b], part, number, fixed, views, header_views, valid, gaps,
            state, fold,
        )  # fmt: skip
        if reason:
            return b, reason
        at += count
    return -1, 0
