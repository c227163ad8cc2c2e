"""Copying and comparing bytes within compiled loops.

A slice of an array counts references and looks for overlaps, which costs more than a short copy.
Unsigned positions spare the check for negative ones, so that whole registers are moved at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.loops import inlined

SLACK = 8
"""Bytes that are moved at once by the functions that say so."""
_STEP = np.uint64(SLACK)


@inlined
def copied(data: Any, start: Any, size: Any, out: Any, at: Any) -> Any:
    """Copy bytes to separate memory `out`, and return the position after them."""
    source, target = np.uint64(start), np.uint64(at)
    for i in range(np.uint64(max(size, 0))):
        out[target + i] = data[source + i]
    return at + max(size, 0)


@inlined
def read_word(data: Any, at: Any) -> Any:
    """Return eight bytes. The compiler makes one move of this, and of the next function."""
    found = np.uint64(0)
    for i in range(8):
        found |= np.uint64(data[at + np.uint64(i)]) << np.uint64(8 * i)
    return found


@inlined
def put_word(out: Any, at: Any, word: Any) -> None:
    """Write eight bytes."""
    for i in range(8):
        out[at + np.uint64(i)] = np.uint8(word >> np.uint64(8 * i))


@inlined
def copied_short(data: Any, start: Any, size: Any, out: Any, at: Any) -> Any:
    """Copy a few bytes fast; up to `SLACK` bytes after them are overwritten.

    Up to `SLACK` bytes of the output behind them are overwritten.
    """
    if start + size + SLACK > len(data) or at + size + SLACK > len(out):
        return copied(data, start, size, out, at)
    source, target, end = np.uint64(start), np.uint64(at), np.uint64(at + size)
    while target < end:
        put_word(out, target, read_word(data, source))
        source += _STEP
        target += _STEP
    return at + size


@inlined
def repeated(out: Any, distance: Any, size: Any, at: Any) -> Any:
    """Repeat earlier output bytes, also overlapping ones, as LZ77 codecs do.

    Up to `SLACK` bytes behind them are overwritten. Returns the position after them.
    """
    source, target, end = np.uint64(at - distance), np.uint64(at), np.uint64(at + size)
    if at + size + SLACK > len(out) or distance < 8:
        while target < end:
            out[target] = out[source]
            source += np.uint64(1)
            target += np.uint64(1)
    else:
        while target < end:
            put_word(out, target, read_word(out, source))
            source += _STEP
            target += _STEP
    return at + size


@inlined
def same(data: Any, at: Any, texts: Any, text_at: Any, size: Any) -> Any:
    """Return whether bytes of a record equal a text of the same size."""
    i = 0
    while i < size and data[at + i] == texts[text_at + i]:
        i += 1
    return i == size


@inlined
def lead(data: Any, at: Any, size: Any) -> Any:
    """Return up to four bytes as a little-endian number."""
    found = np.uint32(0)
    for i in range(size):
        found |= np.uint32(data[np.uint64(at + i)]) << np.uint32(8 * i)
    return found
