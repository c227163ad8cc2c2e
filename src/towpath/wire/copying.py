"""Copying and comparing bytes within compiled loops.

A slice of an array counts references and looks for overlaps, which costs more than a short copy.
Unsigned positions spare the check for negative ones, so that whole registers are moved at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.loops import inlined


@inlined
def copied(data: Any, start: Any, size: Any, out: Any, at: Any) -> Any:
    """Copy bytes to `out`, which is other memory. Returns the position after them."""
    source, target = np.uint64(start), np.uint64(at)
    for i in range(np.uint64(max(size, 0))):
        out[target + i] = data[source + i]
    return at + max(size, 0)


@inlined
def same(data: Any, at: Any, texts: Any, text_at: Any, size: Any) -> Any:
    """Whether bytes of a record are equal to a text of the same size."""
    i = 0
    while i < size and data[at + i] == texts[text_at + i]:
        i += 1
    return i == size


@inlined
def lead(data: Any, at: Any, size: Any) -> Any:
    """Return up to four bytes as a number that lies in memory as they do (little endian)."""
    found = np.uint32(0)
    for i in range(size):
        found |= np.uint32(data[np.uint64(at + i)]) << np.uint32(8 * i)
    return found
