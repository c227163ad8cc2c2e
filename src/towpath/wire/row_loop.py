"""The compiled loop that writes rows as the records of a batch.

A batch may be written in several calls, as its rows come in pieces: what it has so far lies in a
table of numbers between the calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire import varint
from towpath.wire.batch import Table
from towpath.wire.loops import inlined, loop
from towpath.wire.records import COLUMN, piece_size, put_piece

TO, COUNT, LATEST, NEEDED, LAST, BASE, FIRST_TIME, KIND, EPOCH = range(9)
"""Numbers of a batch so far: the end of its record bytes, how many records they are, their latest
time, the end of the first record if there is no room for it, the offset of the last record, and
offset, time, type of time and leader epoch of the first one."""
DISORDER, NAMELESS = -1, -2
"""Results that tell why rows cannot be packed."""
_NUMBERS = 9
_LAST_DELTA = (1 << 31) - 1
_MOST = 1 << 20
"""Upper bound on the records of a batch."""
_NO_OFFSET = -(1 << 63)

_I64, _I32 = (f"Array({kind}, 1, 'C', readonly=True)" for kind in ("int64", "int32"))


def nothing_yet() -> Table:
    """Return the numbers of a batch without records, which no record precedes."""
    made = np.zeros(_NUMBERS, np.int64)
    made[LAST] = _NO_OFFSET
    return made


@inlined
def _joins(
    index: Any, offsets: Any, times: Any, types: Any, epochs: Any, apart: Any, last: Any, made: Any
) -> Any:
    """Whether a record may stand in the batch of the one before it, for all but its size."""
    if types[index] != made[KIND] or epochs[index] != made[EPOCH]:
        return False
    if made[KIND] and times[index] != made[FIRST_TIME]:
        return False
    if apart and offsets[index] != last + 1:
        return False
    return offsets[index] - made[BASE] <= _LAST_DELTA and made[COUNT] < _MOST


@inlined
def _parts_size(index: Any, keys: Any, values: Any, lists: Any, names: Any, contents: Any) -> Any:
    """Return the bytes of key, value and headers; -1 if a header has no name."""
    first, count = lists[index, 0], max(lists[index, 1], 0)
    size = 1 + varint.fast_size(count) + piece_size(keys, index) + piece_size(values, index)
    for header in range(first, first + count):
        if names[0][header, 1] < 0:
            return np.int64(-1)
        size += piece_size(names, header) + piece_size(contents, header)
    return size


@inlined
def _put(
    index: Any,
    size: Any,
    time: Any,
    delta: Any,
    keys: Any,
    values: Any,
    lists: Any,
    names: Any,
    contents: Any,
    out: Any,
    at: Any,
) -> Any:
    """Write a record. Returns the position after it."""
    at = varint.fast_write(out, at, size)
    out[at] = 0
    at = varint.fast_write(out, at + 1, time)
    at = varint.fast_write(out, at, delta)
    at = put_piece(out, at, keys, index)
    at = put_piece(out, at, values, index)
    first, count = lists[index, 0], max(lists[index, 1], 0)
    at = varint.fast_write(out, at, count)
    for header in range(first, first + count):
        at = put_piece(out, at, names, header)
        at = put_piece(out, at, contents, header)
    return at


@loop(
    f"int64(int64, {_I64}, {_I64}, {_I32}, {_I32}, {COLUMN}, {COLUMN}, int64[:, ::1], {COLUMN},"
    f" {COLUMN}, int64, boolean, uint8[::1], int64, int64[::1])"
)
def put_rows(
    index: Any,
    offsets: Any,
    times: Any,
    types: Any,
    epochs: Any,
    keys: Any,
    values: Any,
    lists: Any,
    names: Any,
    contents: Any,
    room: Any,
    apart: Any,
    out: Any,
    start: Any,
    made: Any,
) -> Any:
    """Write records behind those that a batch has. Returns the first one not in it, or a reason."""
    at, last = made[TO], made[LAST]
    made[NEEDED] = 0
    while index < len(offsets):
        if offsets[index] <= last:
            return np.int64(DISORDER)
        body = _parts_size(index, keys, values, lists, names, contents)
        if body < 0:
            return np.int64(NAMELESS)
        if made[COUNT] == 0:
            made[BASE], made[FIRST_TIME], made[LATEST] = offsets[index], times[index], times[index]
            made[KIND], made[EPOCH] = types[index], epochs[index]
        time, delta = times[index] - made[FIRST_TIME], offsets[index] - made[BASE]
        size = body + varint.fast_size(time) + varint.fast_size(delta)
        end = at + size + varint.fast_size(size)
        if made[COUNT]:
            fits = end - start <= room and end <= len(out)
            if not (fits and _joins(index, offsets, times, types, epochs, apart, last, made)):
                break
        elif end > len(out):
            made[NEEDED] = end
            break
        at = _put(index, size, time, delta, keys, values, lists, names, contents, out, at)
        made[LATEST] = max(made[LATEST], times[index])
        made[COUNT] += 1
        last = offsets[index]
        index += 1
    made[TO], made[LAST] = at, last
    return index
