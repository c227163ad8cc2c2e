"""Walk over the sequences of an LZ4 block, writing them for changed bytes; for compiled loops.

Source: LZ4 block format ("Sequences", "End of block conditions").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.copying import copied, copied_short, put_word, read_word
from towpath.wire.loops import inlined
from towpath.wire.unlz4 import sequence_length

OLD, NEW, SIZE = range(3)
"""Columns of pieces: bytes of the source that stay, where they are in the new data, how many."""
START, END, SHIFT = range(3)
"""Columns of ranges: where bytes that stay begin and end in the source, and how far they moved. A
last one lies behind all bytes."""
PATCHES = 1024
"""Most distances that are changed at once."""
STRIDE = np.int64(5)
"""log2 of the bytes of the source for which the index of ranges has one place."""
WIDE = 32
"""Bytes that are moved at once, which may be too many."""
_LEAST, _FARTHEST = 4, 65535
"""The shortest match, and the largest distance."""
_LAST_MATCH, _LAST_LITERALS = 12, 5
"""Bytes before the end of a block from which on no match begins, and which no match covers."""
_BEHIND_ALL = np.int64(1 << 62)
_STEP = np.uint64(8)
_BYTE, _DISTANCE = np.uint64(255), np.uint64(65535)


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
    if first + size + WIDE > len(fresh):
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
def fill_ranges(pieces: Any, ranges: Any, index: Any) -> None:
    """Fill the ranges, and note for each stride of the source the first that ends behind it."""
    for piece in range(len(pieces)):
        ranges[piece, START] = pieces[piece, OLD]
        ranges[piece, END] = pieces[piece, OLD] + pieces[piece, SIZE]
        ranges[piece, SHIFT] = pieces[piece, NEW] - pieces[piece, OLD]
    last = len(pieces)
    ranges[last, START], ranges[last, END], ranges[last, SHIFT] = _BEHIND_ALL, _BEHIND_ALL, 0
    place = np.int64(0)
    for piece in range(len(ranges)):
        behind = min(((ranges[piece, END] - 1) >> STRIDE) + 1, np.int64(len(index)))
        for each in range(place, behind):
            index[each] = piece
        place = max(place, behind)


@inlined
def range_at(ranges: Any, index: Any, old: Any) -> Any:
    """Return the first range that ends behind a byte of the source."""
    return _ahead(ranges, np.int64(index[np.uint64(old >> STRIDE)]), old)


@inlined
def _ahead(ranges: Any, piece: Any, old: Any) -> Any:
    """Return the first range from one on that ends behind a byte of the source."""
    while ranges[np.uint64(piece), END] <= old:
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
    ranges: Any,
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

    Returns the range in which it ends, the first literal that is not written, and the next byte.
    """
    while old < stop:
        piece = _ahead(ranges, piece, old)
        old = max(old, ranges[np.uint64(piece), START])
        if old >= stop:
            break
        target = old + ranges[np.uint64(piece), SHIFT]
        if target < first:
            old += first - target
            continue
        there = old - distance
        origin = range_at(ranges, index, there)
        if ranges[np.uint64(origin), START] > there:
            old += ranges[np.uint64(origin), START] - there
            continue
        left, here = ranges[np.uint64(piece), END] - old, ranges[np.uint64(origin), END] - there
        run = min(stop - old, left, here)
        source = there + ranges[np.uint64(origin), SHIFT]
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
        patch = patches[np.uint64(row)]
        place = np.uint64((patch >> 16) + shift)
        out[place] = np.uint8(patch & 255)
        out[place + np.uint64(1)] = np.uint8(patch >> 8 & 255)
    return at


@inlined
def _unchanged(
    packed: Any,
    at: Any,
    stop: Any,
    first: Any,
    old: Any,
    ends: Any,
    shift: Any,
    ranges: Any,
    index: Any,
    patches: Any,
    count: Any,
) -> Any:
    """Pass over sequences that stay, up to the first that needs a closer look.

    Lengths of one more byte take no branch, whose way the processor could only guess. What reaches
    into two ranges, or from one to another, is not decided here.

    Args:
        packed: The compressed bytes.
        at: Where the first sequence begins in them.
        stop: Where the block ends in them.
        first: Where the block begins in the source.
        old: Where the first sequence begins in the source.
        ends: Where sequences must end before in the source.
        shift: How far their bytes have moved.
        ranges: The ranges that stay.
        index: The index of ranges.
        patches: Where changed distances are noted: place << 16 | distance.
        count: How many are noted.

    Returns:
        Where the first other sequence begins, here and in the source, and the number of patches.
    """
    while at + 8 <= stop and count < PATCHES:
        word = read_word(packed, np.uint64(at))
        token = np.int64(word & _BYTE)
        is_long = (token >> 4) == 15
        more = np.int64((word >> np.uint64(8)) & _BYTE) if is_long else np.int64(0)
        literals = (token >> 4) + more
        place = at + 1 + np.int64(is_long) + literals
        if (more == 255) | (place + 8 > stop):
            break
        word = read_word(packed, np.uint64(place))
        distance = np.int64(word & _DISTANCE)
        is_long = (token & 15) == 15
        more = np.int64((word >> np.uint64(16)) & _BYTE) if is_long else np.int64(0)
        match = old + literals
        behind = match + (token & 15) + more + _LEAST
        there = match - distance
        if (more == 255) | (distance == 0) | (there < first) | (behind >= ends):
            break
        origin = np.uint64(index[np.uint64(there >> STRIDE)])
        far = distance + shift - ranges[origin, SHIFT]
        if (
            (ranges[origin, START] > there)
            | (ranges[origin, END] <= behind - distance)
            | (far > _FARTHEST)
        ):
            break
        patches[np.uint64(count)] = place << 16 | far
        count += far != distance
        at = place + 2 + np.int64(is_long)
        old = behind
    return at, old, count


@inlined
def put_block(
    packed: Any,
    at: Any,
    stop: Any,
    old: Any,
    fresh: Any,
    ranges: Any,
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
    piece = range_at(ranges, index, old)
    while at < stop:
        piece = _ahead(ranges, piece, old)
        shift = ranges[np.uint64(piece), SHIFT]
        if ranges[np.uint64(piece), START] <= old and old + shift == literal:
            ends = min(ranges[np.uint64(piece), END], end - shift - _LAST_MATCH + 1)
            at, old, count = _unchanged(
                packed, at, stop, first, old, ends, shift, ranges, index, patches, count
            )
            literal = old + shift
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
        distance = np.int64(packed[np.uint64(at)]) | np.int64(packed[np.uint64(at + 1)]) << 8
        size, at = sequence_length(packed, at + 2, stop, token & 15)
        if at < 0 or distance == 0 or distance > match - first:
            return done, np.int64(-1)
        done = _flush(packed, kept, start, patches, count, out, done)
        kept, count = at, np.int64(0)
        old = match + size + _LEAST
        piece, literal, done = _match(
            fresh, ranges, index, match, old, distance, begin, end, piece, literal, out, done
        )
    done = _flush(packed, kept, at, patches, count, out, done)
    return _put_last(fresh, literal, end, out, done), old
