"""Decompression of all small batches of a response in one call.

One compiled loop opens small batches of lz4 and snappy and copies uncompressed ones. All others go
to the libraries one by one: other codecs, large batches, frames of kinds that no client of Kafka
writes, whatever is damaged. So the loop needs no reasons: a library says what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.batch import Buffer, Table
from towpath.wire.codec import LIMIT, LZ4, NONE, SNAPPY
from towpath.wire.copying import copied
from towpath.wire.loops import READ_ONLY, loop
from towpath.wire.streams import decompress, into
from towpath.wire.unlz4 import FULL, OTHER, lz4_frame
from towpath.wire.unsnap import snappy

_SMALL = 4096
"""Bytes of a compressed batch above which a call of a library takes less time than the loop."""
_RATIO, _LEAST_ROOM = 3, 4096
"""How many times larger all batches together may become before more memory is needed."""


def unpack(data: Buffer, places: Table) -> Buffer:
    """Return the decompressed records of batches, concatenated.

    Args:
        data: What holds the batches. Their checksums have been found right.
        places: Of each batch where its records begin and end in the data, and its codec. Where they
            begin and end in the result takes the place of that.

    Raises:
        CorruptBatchError: One cannot be decompressed, or all together have more than `LIMIT` bytes.
    """
    out = np.empty(_room(places), np.uint8)
    row = done = 0
    while True:
        row, done, why = _open(data, places, row, out, done)
        if row == len(places):
            return out[:done]
        if why == FULL and len(out) < LIMIT:
            out = _larger(out, done, min(LIMIT, 2 * len(out) + _LEAST_ROOM))
        else:
            out, end = _by_library(data, places[row], out, done)
            places[row, :2] = done, end
            row, done = row + 1, end


def alone(codec: int, packed: Buffer) -> Buffer:
    """Return the decompressed records of a single batch.

    Raises:
        CorruptBatchError: They cannot be decompressed, or have more than `LIMIT` bytes.
    """
    room = _RATIO * len(packed) + _LEAST_ROOM
    if codec == LZ4 and room < LIMIT:
        out = np.empty(room, np.uint8)
        size = into(codec, packed, out)
        if size >= 0:
            return out[:size]
    return decompress(codec, packed, LIMIT)


def _room(places: Table) -> int:
    sizes = places[:, 1] - places[:, 0]
    plain = int(sizes[places[:, 2] == NONE].sum())
    return min(LIMIT, plain + _RATIO * (int(sizes.sum()) - plain) + _LEAST_ROOM)


def _larger(out: Buffer, done: int, size: int) -> Buffer:
    more = np.empty(size, np.uint8)
    more[:done] = out[:done]
    return more


def _by_library(data: Buffer, place: Table, out: Buffer, done: int) -> tuple[Buffer, int]:
    """Open one batch behind the others. Returns the output, which may be new, and its end."""
    start, end, codec = place.tolist()
    packed = data[start:end]
    size = into(codec, packed, out[done:LIMIT])
    if size >= 0:
        return out, done + size
    part = decompress(codec, packed, LIMIT - done)
    if len(part) > len(out) - done:
        out = _larger(out, done, max(done + len(part), min(LIMIT, 2 * len(out) + _LEAST_ROOM)))
    out[done : done + len(part)] = part
    return out, done + len(part)


@loop(f"UniTuple(int64, 3)({READ_ONLY}, int64[:, ::1], int64, uint8[::1], int64)")
def _open(data: Any, places: Any, row: Any, out: Any, done: Any) -> Any:
    """Open batches from a row on. Returns the first row that was left, the end, and why."""
    while row < len(places):
        start, stop, codec = places[row, 0], places[row, 1], places[row, 2]
        end = OTHER
        if codec == NONE:
            room = stop - start <= len(out) - done
            end = copied(data, start, stop - start, out, done) if room else FULL
        elif stop - start <= _SMALL:
            if codec == LZ4:
                end = lz4_frame(data, start, stop, out, done)
            elif codec == SNAPPY:
                end = snappy(data, start, stop, out, done)
        if end < 0:
            return row, done, end
        places[row, 0], places[row, 1] = done, end
        done = end
        row += 1
    return row, done, np.int64(0)
