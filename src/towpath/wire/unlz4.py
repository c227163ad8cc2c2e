"""Decompression of LZ4 frames and blocks, for compiled loops.

Sources: LZ4 frame format 1.6.4, LZ4 block format, xxHash's specification of XXH32. What is not
opened here is left to a library, which opens it or says what is wrong: linked blocks, checksums of
blocks and dictionaries, which no client of Kafka writes, several frames, whatever is damaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.codec import LZ4_STORED
from towpath.wire.copying import copied, copied_short, repeated
from towpath.wire.framing import little
from towpath.wire.loops import READ_ONLY, inlined, loop

FULL, OTHER = np.int64(-1), np.int64(-2)
"""Why data were left: there is no room for them; they are none of those that are opened here."""

_MAGIC, _SHORTEST = 0x184D2204, 11
"""How a frame begins, and the bytes of one that holds nothing."""
_FLAGS, _FLAGS_MASK = 0x60, 0xF3
"""Version 1, blocks that stand alone, no checksums of blocks, no dictionary."""
_CONTENT_SIZE, _CONTENT_CHECKSUM = 0x08, 0x04
_BEHIND = 2 + 1 + 5
"""Bytes that a block has behind literals that are not its last: a distance, a token, 5 literals."""
_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH = map(
    np.uint32, (2654435761, 2246822519, 3266489917, 668265263, 374761393)
)
"""The primes of xxHash32."""


@inlined
def _rotated(value: Any, by: Any) -> Any:
    low = np.uint32(value)  # a sum or product of 32 bits has 64 here
    return np.uint32(low << np.uint32(by)) | np.uint32(low >> np.uint32(32 - by))


@inlined
def _round(value: Any, data: Any, at: Any) -> Any:
    word = np.uint32(little(data, at, 4))
    return np.uint32(_rotated(value + word * _SECOND, 13) * _FIRST)


@inlined
def _mixed(value: Any, by: Any, factor: Any) -> Any:
    return np.uint32(np.uint32(value ^ (value >> np.uint32(by))) * factor)


@loop(f"uint32({READ_ONLY}, int64, int64)")
def xxh32(data: Any, at: Any, stop: Any) -> Any:
    """Return the xxHash32 of some bytes, with seed 0."""
    size = np.uint32(stop - at)
    found = np.uint32(_FIFTH)
    if stop - at >= 16:
        a, b = np.uint32(_FIRST + _SECOND), np.uint32(_SECOND)
        c, d = np.uint32(0), np.uint32(np.uint32(0) - _FIRST)
        while at + 16 <= stop:
            a, b = _round(a, data, at), _round(b, data, at + 4)
            c, d = _round(c, data, at + 8), _round(d, data, at + 12)
            at += 16
        found = np.uint32(_rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18))
    found = np.uint32(found + size)
    while at + 4 <= stop:
        word = np.uint32(little(data, at, 4))
        found = np.uint32(_rotated(found + word * _THIRD, 17) * _FOURTH)
        at += 4
    while at < stop:
        found = np.uint32(_rotated(found + np.uint32(data[at]) * _FIFTH, 11) * _FIRST)
        at += 1
    return _mixed(_mixed(_mixed(found, 15, _SECOND), 13, _THIRD), 16, np.uint32(1))


@inlined
def sequence_length(data: Any, at: Any, stop: Any, size: Any) -> Any:
    """Return a length of which a token has the first four bits, and the position after it.

    The position is -1 if the data end inside.
    """
    more = np.int64(255) if size == 15 else np.int64(0)
    while more == 255:
        if at >= stop:
            return size, np.int64(-1)
        more = np.int64(data[np.uint64(at)])
        size += more
        at += 1
    return size, at


@inlined
def _block(data: Any, at: Any, stop: Any, out: Any, begin: Any, room: Any) -> Any:
    """Open a block to [begin, room) of the output. Returns its end there, or why it was left."""
    done = begin
    while at < stop:
        token = np.int64(data[np.uint64(at)])
        size, at = sequence_length(data, at + 1, stop, token >> 4)
        if at < 0 or size > stop - at:
            break
        if size > room - done:
            return FULL
        done = copied_short(data, at, size, out, done)
        at += size
        if at == stop:
            return done
        if at + _BEHIND > stop:
            break
        distance = little(data, at, 2)
        size, at = sequence_length(data, at + 2, stop, token & 15)
        size += 4
        if at < 0 or distance == 0 or distance > done - begin:
            break
        if size > room - done:
            return FULL
        done = repeated(out, distance, size, done)
    return OTHER  # also what is empty, or ends behind a match, which no block does


@inlined
def _blocks(data: Any, at: Any, stop: Any, out: Any, done: Any, largest: Any) -> Any:
    """Open the blocks of a frame. Returns their end in the data, and in the output or why not."""
    room = np.int64(len(out))
    while at + 4 <= stop:
        told = little(data, at, 4)
        at += 4
        if told == 0:
            return at, done
        size = told & (LZ4_STORED - 1)
        if size > largest or size > stop - at:
            break
        if told & LZ4_STORED:
            end = FULL if size > room - done else copied(data, at, size, out, done)
        else:
            end = _block(data, at, at + size, out, done, min(room, done + largest))
            if end == FULL and done + largest <= room:
                break
        if end < 0:
            return at, end
        done = end
        at += size
    return at, OTHER


@inlined
def frame_head(data: Any, at: Any, stop: Any) -> Any:
    """Return the end of a frame's header, -1 if such frames are not opened here."""
    if at + _SHORTEST > stop or little(data, at, 4) != _MAGIC:
        return np.int64(-1)
    flags, largest = np.int64(data[at + 4]), np.int64(data[at + 5])
    if flags & _FLAGS_MASK != _FLAGS or largest & 0x8F or largest < 0x40:
        return np.int64(-1)
    end = at + 6 + (8 if flags & _CONTENT_SIZE else 0)
    if end >= stop or np.uint8(xxh32(data, at + 4, end) >> np.uint32(8)) != data[end]:
        return np.int64(-1)
    return end + 1


@inlined
def lz4_frame(data: Any, begin: Any, stop: Any, out: Any, first: Any) -> Any:
    """Decompress one whole frame; return the end of the output, or an error code."""
    at = frame_head(data, begin, stop)
    if at < 0:
        return OTHER
    flags, largest = np.int64(data[begin + 4]), np.int64(1) << (8 + 2 * (data[begin + 5] >> 4))
    at, done = _blocks(data, at, stop, out, first, largest)
    if done < 0:
        return done
    if flags & _CONTENT_SIZE and little(data, begin + 6, 8) != done - first:
        return OTHER
    if flags & _CONTENT_CHECKSUM:
        if at + 4 > stop or np.uint32(little(data, at, 4)) != xxh32(out, first, done):
            return OTHER
        at += 4
    return done if at == stop else OTHER
