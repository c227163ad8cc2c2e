"""Positions of the elements in Parquet pages, which saves copies into Arrow.

A page of an optional column of plain bytes (Parquet format, data page 1) has first which elements
are there, in runs, then each of these with its size in four bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.batch import Buffer, Table
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import read_only

SIZE_BYTES = 4
"""Bytes of the size before each element, and before the runs."""


def locate(page: Buffer, count: int) -> Table:
    """Return position and size of each element of a page; the size of null is -1.

    Args:
        page: The page, decompressed.
        count: Number of elements, nulls included.

    Raises:
        ValueError: The bytes are not such a page.
    """
    spans = np.empty((count, 2), np.int64)
    if not _locate(read_only(page), spans):
        raise ValueError(f"a page that does not hold {count} elements")
    return spans


@inlined
def _word(data: Any, at: Any) -> Any:
    """Return four bytes as a number, little endian."""
    found = np.int64(0)
    for i in range(SIZE_BYTES):
        found |= np.int64(data[np.uint64(at + i)]) << np.int64(8 * i)
    return found


@inlined
def _run(data: Any, at: Any, end: Any) -> Any:
    """Return the head of a run and the position after it, which is -1 if there is none."""
    head, shift = np.int64(0), np.int64(0)
    while at < end and shift < 35:
        byte = np.int64(data[np.uint64(at)])
        at += 1
        head |= (byte & 0x7F) << shift
        if byte < 0x80:
            return head, at
        shift += 7
    return head, np.int64(-1)


@loop(f"boolean({READ_ONLY}, int64[:, ::1])")
def _locate(page: Any, spans: Any) -> Any:
    """Fill `spans`. Returns whether the page holds so many elements."""
    end = np.int64(len(page))
    if end < SIZE_BYTES:
        return False
    at, position = np.int64(SIZE_BYTES), SIZE_BYTES + _word(page, 0)
    levels_end = position
    left, bits, there = np.int64(0), np.int64(-1), np.int64(0)
    if position > end:
        return False
    for index in range(len(spans)):
        if left == 0:
            head, at = _run(page, at, levels_end)
            # Either bits, eight for each byte, or one byte that counts for all elements.
            packed = head & 1 == 1
            size = head >> 1 if packed else np.int64(1)
            left = size * 8 if packed else head >> 1
            if at < 0 or left == 0 or size > levels_end - at:
                return False
            bits = at * 8 if packed else np.int64(-1)
            there = np.int64(page[np.uint64(at)])
            at += size
        if bits >= 0:
            there = np.int64(page[np.uint64(bits >> 3)]) >> (bits & 7) & 1
            bits += 1
        left -= 1
        spans[index, 0], spans[index, 1] = position, -1
        if there:
            if end - position < SIZE_BYTES:
                return False
            size = _word(page, position)
            position += SIZE_BYTES
            if size < 0 or size > end - position:
                return False
            spans[index, 0], spans[index, 1] = position, size
            position += size
    return True
