"""Hashes of records, and digests of many records for the comparison of logs.

The hash of a record covers its key, value, headers and timestamp, and nothing that may differ
between equal logs: no offset, no batch boundaries, no codec. Hashes without timestamps are for
topics whose broker sets them (LogAppendTime). The hash detects damage; it is not safe against
deliberate collisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from towpath.model.digest import STEP, Digest
from towpath.wire import rows
from towpath.wire.batch import NO_END, Buffer, Bytes, Table
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import OpenedBatches, open_batch, open_batches, read_only

__all__ = [
    "Digest",
    "Hashes",
    "digest_batches",
    "fold",
    "opened_hashes",
    "record_hashes",
]

Hashes = npt.NDArray[np.uint64]

# Two odd numbers without pattern: the fractions of the square roots of 2 and 3, made odd.
FIRST = np.uint64(0x6A09E667F3BCC909)
"""The state before the first byte of a record."""
_SECOND = np.uint64(0xBB67AE8584CAA73B)


def digest_batches(
    buffer: Buffer,
    positions: Table,
    lengths: Table,
    first_offset: int = 0,
    end_offset: int = NO_END,
    *,
    timed: bool = True,
) -> Digest:
    """Return the digest of the records of consecutive batches within a range of offsets.

    If `timed` is false, timestamps are left out.

    Raises:
        CorruptBatchError: One of them is not a batch of magic 2.
    """
    offsets, hashes = opened_hashes(open_batches(buffer, positions, lengths), timed=timed)
    return fold(hashes[(offsets >= first_offset) & (offsets < end_offset)])


def record_hashes(batch: Bytes, *, timed: bool = True) -> tuple[Table, Hashes]:
    """Return offset and hash of every record, with or without its timestamp.

    Raises:
        CorruptBatchError: The bytes are not a batch of magic 2.
    """
    return opened_hashes(open_batch(batch), timed=timed)


def fold(hashes: Hashes) -> Digest:
    """Return the digest of records with these hashes, in this order."""
    unordered, ordered = _fold(read_only(hashes))
    return Digest(len(hashes), int(unordered), int(ordered))


def opened_hashes(source: OpenedBatches, *, timed: bool = True) -> tuple[Table, Hashes]:
    """Return offset and hash of every record of opened batches.

    Raises:
        CorruptBatchError: The bytes are not records.
    """
    table = rows.parse(source)
    hashes = np.empty(len(table), np.uint64)
    _hash_records(source.data, table, hashes, timed)
    return table[:, rows.OFFSET].copy(), hashes


@inlined
def absorb(state: Any, word: Any) -> Any:
    """Return a hash state after absorbing eight more bytes."""
    state ^= word * FIRST
    state = (state << np.uint64(29)) | (state >> np.uint64(35))
    return state * _SECOND + np.uint64(1)


@inlined
def absorb_bytes(state: Any, data: Any, start: Any, size: Any) -> Any:
    """Absorb the size, which distinguishes null from empty, then the bytes, eight at a time."""
    state = absorb(state, np.uint64(size))
    at = np.uint64(start)
    end = at + np.uint64(max(size, 0))
    while at + np.uint64(8) <= end:
        word = np.uint64(0)
        for i in range(8):
            word |= np.uint64(data[at + np.uint64(i)]) << np.uint64(8 * i)
        state = absorb(state, word)
        at += np.uint64(8)
    if at == end:
        return state
    rest = np.uint64(8) * (end - at)
    word = np.uint64(0)
    if at + np.uint64(8) <= np.uint64(len(data)):  # one load, of which the last bytes are not ours
        for i in range(8):
            word |= np.uint64(data[at + np.uint64(i)]) << np.uint64(8 * i)
        return absorb(state, word & ((np.uint64(1) << rest) - np.uint64(1)))
    shift = np.uint64(0)
    while at < end:
        word |= np.uint64(data[at]) << shift
        shift += np.uint64(8)
        at += np.uint64(1)
    return absorb(state, word)


@inlined
def finish(state: Any) -> Any:
    """Mix a hash state so that each bit of the state affects each bit of the hash."""
    for _ in range(2):
        state ^= state >> np.uint64(32)
        state *= FIRST
        state ^= state >> np.uint64(29)
        state *= _SECOND
    return state ^ (state >> np.uint64(32))


@inlined
def _hash_headers(state: Any, data: Any, position: Any, count: Any) -> Any:
    end = np.int64(len(data))
    for _ in range(2 * count):
        size, start, position = rows.piece(data, position, end)
        state = absorb_bytes(state, data, start, size)
    return state


@inlined
def record_hash(data: Any, row: Any, timed: Any) -> Any:
    """Return the hash of a record, whose parts `rows.parse` located."""
    state = absorb(FIRST, np.uint64(row[rows.TIME] if timed else 0))
    state = absorb_bytes(state, data, row[rows.KEY_AT], row[rows.KEY_SIZE])
    state = absorb_bytes(state, data, row[rows.VALUE_AT], row[rows.VALUE_SIZE])
    state = absorb(state, np.uint64(row[rows.HEADERS]))
    state = _hash_headers(state, data, row[rows.HEADERS_AT], row[rows.HEADERS])
    return finish(state)


@loop(f"void({READ_ONLY}, int64[:, ::1], uint64[::1], boolean)")
def _hash_records(data: Any, table: Any, hashes: Any, timed: Any) -> None:
    for index in range(len(table)):
        hashes[index] = record_hash(data, table[index], timed)


@loop("UniTuple(uint64, 2)(Array(uint64, 1, 'C', readonly=True))")
def _fold(hashes: Any) -> Any:
    total = np.uint64(0)
    ordered = np.uint64(0)
    for index in range(len(hashes)):
        total += hashes[index]
        ordered = ordered * np.uint64(STEP) + hashes[index]
    return total, ordered
