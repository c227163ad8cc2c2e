"""Zigzag varints of records, for numba; `wire/plain.py` has them in plain Python.

These functions are compiled into the loops that call them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.loops import inlined

LONGEST = 10
"""Bytes of the longest varint that fits 64 bits."""


@inlined
def fast_read(data: Any, position: Any, end: Any) -> Any:
    """Decode a varint; return it and the position after it, -1 if it is invalid."""
    if position < end:
        first = np.int64(data[np.uint64(position)])
        if first < 0x80:  # nearly all are short
            return (first >> 1) ^ -(first & 1), position + 1
    value = np.uint64(0)
    shift = np.uint64(0)
    while position < end:
        byte = np.uint64(data[np.uint64(position)])
        position += 1
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            if shift == np.uint64(63) and byte > np.uint64(1):
                break
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), position
        shift += np.uint64(7)
        if shift > np.uint64(63):
            break
    return np.int64(0), np.int64(-1)


@inlined
def fast_write(out: Any, position: Any, value: Any) -> Any:
    """Write a varint at `position`; return the position after it."""
    rest = np.uint64((value << 1) ^ (value >> 63))
    while rest >= np.uint64(0x80):
        out[position] = np.uint8(rest & np.uint64(0x7F)) | np.uint8(0x80)
        rest >>= np.uint64(7)
        position += 1
    out[position] = np.uint8(rest)
    return position + 1


@inlined
def fast_size(value: Any) -> Any:
    """Return the encoded size of a varint in bytes."""
    rest = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while rest >= np.uint64(0x80):
        rest >>= np.uint64(7)
        size += 1
    return size
