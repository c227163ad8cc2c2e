"""Compression of changed LZ4 data that reuses the matches of the original, for compiled loops.

Most bytes of a batch stay when its records are changed, so most matches of its LZ4 blocks still
hold: only their places and distances move. This walks over the sequences of the source's blocks and
writes them for the new bytes; nothing is searched. Matches are cut where bytes were changed, and
then extended as far as the new bytes agree, so what is written is about as small as the source.

Source: LZ4 block format ("Sequences", "End of block conditions").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.codec import LZ4_HEAD, LZ4_HEADS, LZ4_STORED
from towpath.wire.copying import copied
from towpath.wire.framing import little
from towpath.wire.header import Buffer
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import PackedSource
from towpath.wire.sequences import (
    END,
    PATCHES,
    SHIFT,
    SIZE,
    START,
    STRIDE,
    WIDE,
    fill_ranges,
    put_block,
    range_at,
)
from towpath.wire.unlz4 import frame_head

_STAYS = 0.5
"""If a smaller part of the changed records stays the same, they are compressed anew."""
_GROWTH = 1.05
"""More than so many times the size that the source's ratio foretells is compressed anew."""


def spliced(origin: PackedSource, fresh: Buffer) -> Buffer | None:
    """Return changed records as an LZ4 frame, `None` if the matches cannot be reused.

    Args:
        origin: What they come from. Its pieces ascend and do not overlap.
        fresh: The changed records.
    """
    packed, before, pieces = origin.packed, origin.size, origin.pieces
    stays = int(pieces[:, SIZE].sum())
    if stays == before == len(fresh):
        return packed
    if stays < len(fresh) * _STAYS:
        return None
    most = len(fresh) + len(fresh) // 255 + 64 + WIDE
    out = np.empty(most + (len(packed) >> 6), np.uint8)
    ranges = np.empty((len(pieces) + 1, 3), np.int64)
    index = np.empty((before >> int(STRIDE)) + 2, np.int32)
    patches = np.empty(PATCHES, np.int64)
    size, largest = _splice(packed, before, fresh, pieces, ranges, index, patches, out)
    if size < 0 or size > _GROWTH * len(packed) * len(fresh) / max(1, before) + 64:
        return None
    for room, head in LZ4_HEADS:
        if largest <= room:
            out[: len(head)] = np.frombuffer(head, np.uint8)
            return out[:size]
    return None


@inlined
def _new_end(ranges: Any, index: Any, old: Any, before: Any, size: Any) -> Any:
    """Return where the new bytes end that take the place of the source's first `old` bytes."""
    if old >= before:
        return size
    piece = range_at(ranges, index, old)
    if ranges[piece, START] <= old:
        return old + ranges[piece, SHIFT]
    return ranges[piece - 1, END] + ranges[piece - 1, SHIFT] if piece else np.int64(0)


@inlined
def _put_size(out: Any, at: Any, size: Any) -> None:
    for i in range(4):
        out[np.uint64(at + i)] = np.uint8(size >> (8 * i) & 255)


@loop(
    f"UniTuple(int64, 2)({READ_ONLY}, int64, {READ_ONLY}, int64[:, ::1], int64[:, ::1],"
    " int32[::1], int64[::1], uint8[::1])"
)
def _splice(
    packed: Any,
    before: Any,
    fresh: Any,
    pieces: Any,
    ranges: Any,
    index: Any,
    patches: Any,
    out: Any,
) -> Any:
    """Write a frame behind room for its head; return its size, -1 if left, and the largest block.

    All blocks but the last are taken to be full, and the frame is left if one is not.
    """
    fill_ranges(pieces, ranges, index)
    at, stop = frame_head(packed, np.int64(0), np.int64(len(packed))), np.int64(len(packed))
    full = np.int64(1) << (8 + 2 * (packed[5] >> 4)) if at >= 0 else np.int64(0)
    done, old, begin, largest = np.int64(LZ4_HEAD), np.int64(0), np.int64(0), np.int64(0)
    while at >= 0 and at + 4 <= stop:
        told = little(packed, at, 4)
        at += 4
        if told == 0:
            _put_size(out, done, 0)
            whole = old == before and begin == len(fresh)
            return (done + 4 if whole else np.int64(-1)), largest
        size = told & (LZ4_STORED - 1)
        if size + 4 > stop - at:
            break
        held = size if told & LZ4_STORED else min(full, before - old)
        end = _new_end(ranges, index, old + held, before, np.int64(len(fresh)))
        written, closed = done + 4, old + held
        if told & LZ4_STORED == 0:
            written, closed = put_block(
                packed, at, at + size, old, fresh, ranges, index, begin, end, patches, out, done + 4
            )
        if closed != old + held:
            break
        if told & LZ4_STORED or written - done - 4 >= end - begin:
            written = copied(fresh, begin, end - begin, out, done + 4)
            _put_size(out, done, end - begin | LZ4_STORED)
        else:
            _put_size(out, done, written - done - 4)
        done = written if end > begin else done
        largest = max(largest, end - begin)
        at, old, begin = at + size, old + held, end
    return np.int64(-1), largest
