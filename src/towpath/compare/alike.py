"""Detection of equal batches on both sides, without opening them."""

from __future__ import annotations

import struct
from typing import Any

import google_crc32c
import numpy as np
from xxhash import xxh3_64

from towpath.compare.cursor import Cursor, Piece
from towpath.ledger.offsets import OffsetMap
from towpath.wire import batch as wire
from towpath.wire.digest import Digest

_FACTS = struct.Struct(">qqqq")


def same_batches(source: Cursor, target: Cursor, offsets: OffsetMap) -> tuple[int, wire.Table]:
    """Return the number of leading equal batches, and their rows on the target.

    Two batches are the same if they have equal record bytes, count, codec and timestamps. The
    checksum of each target batch is recomputed too.
    """
    if not source.pieces or not target.pieces:
        return 0, np.empty((0, wire.COLUMNS), np.int64)
    theirs, ours = source.pieces[0], target.pieces[0]
    count = min(len(theirs.rows), len(ours.rows))
    a, b = theirs.rows[:count], ours.rows[:count]
    fits = _fits(a, b, offsets)
    fits &= (a[:, wire.BASE] >= source.position) & (a[:, wire.LAST] < source.end)
    fits &= (b[:, wire.BASE] >= target.position) & (b[:, wire.LAST] < target.end)
    count = count if fits.all() else int(fits.argmin())
    if count:
        count = wire.same_prefix(theirs.buffer, a[:count], ours.buffer, b[:count])
    return _sound(ours, count), b


def bytes_digest(piece: Piece, rows: wire.Table) -> Digest:
    """Return a digest of whole batches, computed without opening them."""
    digest = Digest()
    for row in rows.tolist():
        position, length, count = row[wire.POSITION], row[wire.LENGTH], row[wire.COUNT]
        times = piece.buffer[position + 27 : position + 35].tobytes()
        attributes = row[wire.ATTRIBUTES] & wire.COMPARED_ATTRIBUTES
        made = xxh3_64(
            _FACTS.pack(length, count, int.from_bytes(times, "big", signed=True), attributes)
        )
        made.update(piece.buffer[position + wire.HEADER_SIZE : position + length].data)
        word = made.intdigest()
        digest = digest.then(Digest(count, word, word))
    return digest


def _fits(a: wire.Table, b: wire.Table, offsets: OffsetMap) -> Any:
    """Return which pairs have equal sizes, codecs and timestamp types, at the right offsets."""
    own_clock = b[:, wire.ATTRIBUTES] & wire.LOG_APPEND_TIME != 0
    clock = a[:, wire.ATTRIBUTES] & wire.LOG_APPEND_TIME != 0
    codecs = (a[:, wire.ATTRIBUTES] ^ b[:, wire.ATTRIBUTES]) & wire.CODEC_MASK
    fits = (codecs == 0) & (own_clock | ~clock)
    fits &= a[:, wire.LENGTH] == b[:, wire.LENGTH]
    fits &= a[:, wire.COUNT] == b[:, wire.COUNT]
    fits &= offsets.targets(a[:, wire.BASE]) == b[:, wire.BASE]
    fits &= offsets.targets(a[:, wire.LAST]) == b[:, wire.LAST]
    return fits


def _sound(piece: Piece, count: int) -> int:
    """Return how many of the first `count` batches have a correct checksum."""
    for index, row in enumerate(piece.rows[:count].tolist()):
        position, length = row[wire.POSITION], row[wire.LENGTH]
        if google_crc32c.value(piece.buffer[position + 21 : position + length]) != row[wire.CRC]:
            return index
    return count
