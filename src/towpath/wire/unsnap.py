"""Decompression of Snappy blocks, bare or in snappy-java's framing, for compiled loops.

Source: Snappy's format description. What is damaged is left to a library, which says what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.codec import SNAPPY_RATIO, XERIAL, XERIAL_HEADER
from towpath.wire.copying import copied_short, repeated, same
from towpath.wire.framing import little, word
from towpath.wire.loops import inlined
from towpath.wire.unlz4 import FULL, OTHER

_FRAMING = np.frombuffer(XERIAL, np.uint8)


@inlined
def _claim(data: Any, at: Any, stop: Any) -> Any:
    """Return the size that a block claims to have, and the position after that, or -1."""
    claim = np.int64(0)
    for i in range(5):
        if at + i >= stop:
            break
        byte = np.int64(data[at + i])
        claim |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return claim, at + i + 1
    return claim, np.int64(-1)


@inlined
def _block(data: Any, begin: Any, stop: Any, out: Any, first: Any) -> Any:
    """Open a block behind what is in the output. Returns its end there, or why it was left."""
    claim, at = _claim(data, begin, stop)
    if at < 0 or claim > SNAPPY_RATIO * (stop - begin) + 64:
        return OTHER
    if claim > len(out) - first:
        return FULL
    done, end = first, first + claim
    while at < stop:
        tag = np.int64(data[np.uint64(at)])
        kind, size, at = tag & 3, (tag >> 2) + 1, at + 1
        more = max(size - 60, 0) if kind == 0 else 1 << (kind - 1)
        if more > stop - at:
            return OTHER
        told = little(data, at, more)
        at += more
        if kind == 0:
            size = told + 1 if more else size
            if size > stop - at or size > end - done:
                return OTHER
            done = copied_short(data, at, size, out, done)
            at += size
        else:
            if kind == 1:
                size, told = 4 + ((tag >> 2) & 7), told | (tag >> 5) << 8
            if told == 0 or told > done - first or size > end - done:
                return OTHER
            done = repeated(out, told, size, done)
    return done if done == end else OTHER


@inlined
def _framed(data: Any, begin: Any, stop: Any) -> Any:
    """Whether xerial's framing is around the blocks."""
    found = stop - begin >= XERIAL_HEADER
    return found and same(data, begin, _FRAMING, 0, len(_FRAMING))


@inlined
def snappy(data: Any, at: Any, stop: Any, out: Any, done: Any) -> Any:
    """Decompress one whole block; return the end of the output, or an error code."""
    framed = _framed(data, at, stop)
    if at == stop:
        return OTHER
    at += XERIAL_HEADER if framed else 0
    while at < stop and done >= 0:
        size = stop - at
        if framed:
            size = word(data, at, 4) if size >= 4 else size
            at += 4
        done = _block(data, at, at + size, out, done) if size <= stop - at else OTHER
        at += size
    return done
