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
from towpath.wire.copying import copied, copied_short, put_word, read_word
from towpath.wire.framing import little
from towpath.wire.header import Buffer, Bytes
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import PackedSource
from towpath.wire.unlz4 import frame_head, sequence_length

OLD, NEW, SIZE = range(3)
"""Columns of pieces: bytes of the source that stay, where they are in the new data, how many."""
_LEAST, _FARTHEST = 4, 65535
"""The shortest match, and the largest distance."""
_LAST_MATCH, _LAST_LITERALS = 12, 5
"""Bytes before the end of a block from which on no match begins, and which no match covers."""
_NO_PIECE = np.int64(1 << 62)
"""Where the piece begins and ends that follows the last one."""
_STRIDE = np.int64(8)
"""log2 of the bytes of the source for which the table of pieces has one place."""
_WIDE = 32
"""Bytes that are moved at once, which may be too many."""
_PATCHES = 1024
"""Most distances that are changed at once."""
_STEP = np.uint64(8)
_STAYS = 0.5
"""If a smaller part of the changed records stays the same, they are compressed anew."""
_GROWTH = 1.05
"""More than so many times the size that the source's ratio foretells is compressed anew."""


def spliced(origin: PackedSource, fresh: Buffer) -> Bytes | None:
    """Return changed records as an LZ4 frame, `None` if the matches cannot be reused.

    Args:
        origin: What they come from. Its pieces ascend and do not overlap.
        fresh: The changed records.
    """
    packed, before, pieces = origin.packed, origin.size, origin.pieces
    stays = int(pieces[:, SIZE].sum())
    if stays == before == len(fresh):
        return packed.data
    if stays < len(fresh) * _STAYS:
        return None
    most = len(fresh) + len(fresh) // 255 + 64 + _WIDE
    out = np.empty(most + (len(packed) >> 6), np.uint8)
    index = np.empty((before >> int(_STRIDE)) + 2, np.int64)
    patches = np.empty((_PATCHES, 2), np.int64)
    size, largest = _splice(packed, before, fresh, pieces, index, patches, out)
    if size < 0 or size > _GROWTH * len(packed) * len(fresh) / max(1, before) + 64:
        return None
    for room, head in LZ4_HEADS:
        if largest <= room:
            out[: len(head)] = np.frombuffer(head, np.uint8)
            return out[:size].data
    return None


@inlined
def _put_length(out: Any, at: Any, rest: Any) -> Any:
    """Write what a length has above the 15 of its token."""
    while rest >= 255:
        out[np.uint64(at)] = 255
        at += 1
        rest -= 255
    out[np.uint64(at)] = np.uint8(rest)
    return at + 1


@inlined
def _put_literals(fresh: Any, first: Any, size: Any, out: Any, at: Any) -> Any:
    """Write literals; up to 16 bytes after them are overwritten.

    Few literals are moved without a loop, whose length the processor would guess wrong.
    """
    if first + size + _WIDE > len(fresh):
        return copied(fresh, first, size, out, at)
    source, target = np.uint64(first), np.uint64(at)
    put_word(out, target, read_word(fresh, source))
    put_word(out, target + _STEP, read_word(fresh, source + _STEP))
    if size > 16:
        copied_short(fresh, first + 16, size - 16, out, at + 16)
    return at + size


@inlined
def _put_sequence(
    fresh: Any, first: Any, literals: Any, distance: Any, rest: Any, out: Any, at: Any
) -> Any:
    """Write literals and a match behind them, which has `rest` bytes more than the least."""
    out[np.uint64(at)] = np.uint8(min(literals, 15) << 4 | min(rest, 15))
    at += 1
    if literals >= 15:
        at = _put_length(out, at, literals - 15)
    at = _put_literals(fresh, first, literals, out, at)
    out[np.uint64(at)] = np.uint8(distance & 255)
    out[np.uint64(at + 1)] = np.uint8(distance >> 8)
    at += 2
    if rest >= 15:
        at = _put_length(out, at, rest - 15)
    return at


@inlined
def _put_last(fresh: Any, first: Any, end: Any, out: Any, at: Any) -> Any:
    """Write the literals at the end of a block."""
    literals = end - first
    out[np.uint64(at)] = np.uint8(min(literals, 15) << 4)
    at += 1
    if literals >= 15:
        at = _put_length(out, at, literals - 15)
    return copied(fresh, first, literals, out, at)


@inlined
def _fill_index(pieces: Any, index: Any) -> None:
    """Note for each stride of the source the first piece that ends in it or behind it."""
    piece = np.int64(0)
    for place in range(len(index)):
        piece = _ahead(pieces, piece, place << _STRIDE)
        index[place] = piece


@inlined
def _end(pieces: Any, piece: Any) -> Any:
    """Return where a piece ends in the source."""
    return pieces[np.uint64(piece), OLD] + pieces[np.uint64(piece), SIZE]


@inlined
def _place(pieces: Any, index: Any, old: Any) -> Any:
    """Return the first piece that ends behind a byte of the source."""
    return _ahead(pieces, index[np.uint64(old >> _STRIDE)], old)


@inlined
def _ahead(pieces: Any, piece: Any, old: Any) -> Any:
    """Return the first piece from one on that ends behind a byte of the source."""
    while piece < len(pieces) and _end(pieces, piece) <= old:
        piece += 1
    return piece


@inlined
def _extended(fresh: Any, source: Any, target: Any, size: Any, room: Any) -> Any:
    """Return the size of a match, with all bytes behind it that agree."""
    while size < room and fresh[np.uint64(source + size)] == fresh[np.uint64(target + size)]:
        size += 1
    return size


@inlined
def _match(
    fresh: Any,
    pieces: Any,
    index: Any,
    old: Any,
    stop: Any,
    distance: Any,
    begin: Any,
    end: Any,
    piece: Any,
    first: Any,
    out: Any,
    at: Any,
) -> Any:
    """Write a match of the source, as far as it still holds, to the block [begin, end).

    Returns the piece in which it ends, the first literal that is not written, and the next byte.
    """
    while old < stop:
        piece = _ahead(pieces, piece, old)
        if piece == len(pieces) or pieces[np.uint64(piece), OLD] >= stop:
            break
        begins = pieces[np.uint64(piece), OLD]
        old = max(old, begins)
        target = pieces[np.uint64(piece), NEW] + old - begins
        if target < first:
            old += first - target
            continue
        there = old - distance
        origin = _place(pieces, index, there)
        if pieces[np.uint64(origin), OLD] > there:
            old += pieces[np.uint64(origin), OLD] - there
            continue
        left, here = _end(pieces, piece) - old, _end(pieces, origin) - there
        run = min(stop - old, left, here)
        source = pieces[np.uint64(origin), NEW] + there - pieces[np.uint64(origin), OLD]
        if target + _LAST_MATCH <= end and source >= begin and target - source <= _FARTHEST:
            room = end - _LAST_LITERALS - target
            found = min(run, room)
            if run in (left, here):
                found = _extended(fresh, source, target, found, room)
            if found >= _LEAST:
                at = _put_sequence(
                    fresh, first, target - first, target - source, found - _LEAST, out, at
                )
                first = target + found
        old += run
    return piece, first, at


@inlined
def _flush(packed: Any, start: Any, stop: Any, patches: Any, count: Any, out: Any, at: Any) -> Any:
    """Copy sequences that stay, with the new distances of their matches."""
    shift = at - start
    at = copied(packed, start, stop - start, out, at)
    for row in range(count):
        place = np.uint64(patches[np.uint64(row), 0] + shift)
        out[place] = np.uint8(patches[np.uint64(row), 1] & 255)
        out[place + np.uint64(1)] = np.uint8(patches[np.uint64(row), 1] >> 8)
    return at


@inlined
def _piece_at(pieces: Any, piece: Any, old: Any) -> Any:
    """Return the first piece that ends behind a byte, its start, its end, and how far it moved."""
    piece = _ahead(pieces, piece, old)
    if piece == len(pieces):
        return piece, _NO_PIECE, _NO_PIECE, np.int64(0)
    starts = pieces[np.uint64(piece), OLD]
    return piece, starts, _end(pieces, piece), pieces[np.uint64(piece), NEW] - starts


@inlined
def _block(
    packed: Any,
    at: Any,
    stop: Any,
    old: Any,
    fresh: Any,
    pieces: Any,
    index: Any,
    begin: Any,
    end: Any,
    patches: Any,
    out: Any,
    done: Any,
) -> Any:
    """Write a block for the new bytes [begin, end).

    Sequences of which no byte was changed are copied together, as only their distances differ.
    Returns the end of what is written, and of what the source's block holds, -1 if it is damaged.
    """
    first, literal, kept, count = old, begin, at, np.int64(0)
    piece = _place(pieces, index, old)
    starts = ends = shift = np.int64(-1)
    while at < stop:
        start = at
        token = np.int64(packed[np.uint64(at)])
        size, at = sequence_length(packed, at + 1, stop, token >> 4)
        if at < 0 or size > stop - at:
            return done, np.int64(-1)
        at += size
        match = old + size
        if at == stop:
            old = match
            at = start
            break
        if at + 2 > stop:
            return done, np.int64(-1)
        place = at
        distance = np.int64(packed[np.uint64(at)]) | np.int64(packed[np.uint64(at + 1)]) << 8
        size, at = sequence_length(packed, at + 2, stop, token & 15)
        behind = match + size + _LEAST
        if at < 0 or distance == 0 or distance > match - first:
            return done, np.int64(-1)
        there = match - distance
        if old >= ends:
            piece, starts, ends, shift = _piece_at(pieces, piece, old)
        if starts <= old and behind < ends:
            origin = _place(pieces, index, there)
            far = distance + shift - pieces[np.uint64(origin), NEW] + pieces[np.uint64(origin), OLD]
            same = (
                pieces[np.uint64(origin), OLD] <= there
                and behind - distance < _end(pieces, origin)
                and far <= _FARTHEST
                and old + shift == literal
                and behind + shift + _LAST_MATCH <= end
            )
            if same:
                patches[np.uint64(count), 0] = place
                patches[np.uint64(count), 1] = far
                count += far != distance
                literal = behind + shift
                old = behind
                if count == len(patches):
                    done = _flush(packed, kept, at, patches, count, out, done)
                    kept, count = at, np.int64(0)
                continue
        done = _flush(packed, kept, start, patches, count, out, done)
        kept, count = at, np.int64(0)
        piece, literal, done = _match(
            fresh, pieces, index, match, behind, distance, begin, end, piece, literal, out, done
        )
        old = behind
    done = _flush(packed, kept, at, patches, count, out, done)
    return _put_last(fresh, literal, end, out, done), old


@inlined
def _new_end(pieces: Any, index: Any, old: Any, before: Any, size: Any) -> Any:
    """Return where the new bytes end that take the place of the source's first `old` bytes."""
    if old >= before:
        return size
    piece = _place(pieces, index, old)
    if piece < len(pieces) and pieces[piece, OLD] <= old:
        return pieces[piece, NEW] + old - pieces[piece, OLD]
    return pieces[piece - 1, NEW] + pieces[piece - 1, SIZE] if piece else np.int64(0)


@inlined
def _put_size(out: Any, at: Any, size: Any) -> None:
    for i in range(4):
        out[np.uint64(at + i)] = np.uint8(size >> (8 * i) & 255)


@loop(
    f"UniTuple(int64, 2)({READ_ONLY}, int64, {READ_ONLY}, int64[:, ::1], int64[::1],"
    " int64[:, ::1], uint8[::1])"
)
def _splice(
    packed: Any, before: Any, fresh: Any, pieces: Any, index: Any, patches: Any, out: Any
) -> Any:
    """Write a frame behind room for its head; return its size, -1 if left, and the largest block.

    All blocks but the last are taken to be full, and the frame is left if one is not.
    """
    _fill_index(pieces, index)
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
        end = _new_end(pieces, index, old + held, before, np.int64(len(fresh)))
        written, closed = done + 4, old + held
        if told & LZ4_STORED == 0:
            written, closed = _block(
                packed, at, at + size, old, fresh, pieces, index, begin, end, patches, out, done + 4
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
