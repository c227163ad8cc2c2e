"""Record batches of magic 2 in a buffer: finding them, reading and patching headers.

Nothing here opens a batch; `wire/header.py` describes the layout. The checksum covers all bytes
after it. `stamp` changes only some of the first 40 of these, and CRC-32C is linear, so the new
checksum follows from the old one and the changed bytes (docs/decisions/0001). The records are never
read, and the target broker still detects damage to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from towpath.model.errors import CorruptBatchError
from towpath.wire.aborted import AbortedTransactions
from towpath.wire.crc import BYTES, POLYNOMIAL, SHIFTS
from towpath.wire.header import (
    CODEC_AT,
    CODEC_MASK,
    COMPARED_ATTRIBUTES,
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    Buffer,
    Bytes,
    seal,
    sealed,
    sound,
)
from towpath.wire.loops import loop

__all__ = [
    "ATTRIBUTES",
    "BASE",
    "CODEC_AT",
    "CODEC_MASK",
    "COLUMNS",
    "COMPARED_ATTRIBUTES",
    "CONTROL",
    "COUNT",
    "CRC",
    "HEADER_SIZE",
    "LAST",
    "LEADER_EPOCH",
    "LENGTH",
    "LOG_APPEND_TIME",
    "MAGIC",
    "MAX_TIME",
    "NO_END",
    "POSITION",
    "PRODUCER",
    "SEQUENCES",
    "TRANSACTIONAL",
    "BatchHeader",
    "Buffer",
    "Bytes",
    "Mask",
    "Table",
    "plain_prefix",
    "same_prefix",
    "scan",
    "seal",
    "sealed",
    "sound",
    "stamp",
    "visible",
]

SEQUENCES = 1 << 31
"""Sequences wrap here (KIP-98)."""
NO_END = (1 << 63) - 1
"""An offset after every other one."""

Table = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

POSITION, LENGTH, BASE, LAST, COUNT, ATTRIBUTES, PRODUCER, MAX_TIME, LEADER_EPOCH, CRC = range(10)
"""Columns of the table that `scan` returns. `LAST` is the last offset of the batch."""
COLUMNS = 10


@loop("uint64(uint8[::1], int64, int64)")
def _number(buffer: Any, position: Any, size: Any) -> Any:
    value = np.uint64(0)
    for i in range(position, position + size):
        value = (value << np.uint64(8)) | np.uint64(buffer[i])
    return value


@loop("void(uint8[::1], int64, int64, uint64)")
def _put(buffer: Any, position: Any, size: Any, value: Any) -> None:
    for i in range(size):
        buffer[position + size - 1 - i] = np.uint8((value >> np.uint64(8 * i)) & np.uint64(0xFF))


@loop("int64(uint8[::1], int64, int64, int64[:, ::1])")
def _scan(buffer: Any, start: Any, end: Any, table: Any) -> Any:
    """Fill `table`. Returns its rows, or -1 minus the position of bytes that are no batch."""
    rows = 0
    position = start
    while position + 17 <= end:
        length = np.int64(np.int32(_number(buffer, position + 8, 4))) + 12
        if position + length > end and length >= HEADER_SIZE:
            break
        if buffer[position + 16] != MAGIC or length < HEADER_SIZE:
            return -position - 1
        base = np.int64(_number(buffer, position, 8))
        table[rows, POSITION] = position
        table[rows, LENGTH] = length
        table[rows, BASE] = base
        table[rows, LAST] = base + np.int64(np.int32(_number(buffer, position + 23, 4)))
        table[rows, COUNT] = np.int64(np.int32(_number(buffer, position + 57, 4)))
        table[rows, ATTRIBUTES] = np.int64(np.int16(_number(buffer, position + 21, 2)))
        table[rows, PRODUCER] = np.int64(_number(buffer, position + 43, 8))
        table[rows, MAX_TIME] = np.int64(_number(buffer, position + 35, 8))
        table[rows, LEADER_EPOCH] = np.int64(np.int32(_number(buffer, position + 12, 4)))
        table[rows, CRC] = np.int64(_number(buffer, position + 17, 4))
        if table[rows, LAST] < base or table[rows, COUNT] < 0:
            return -position - 1
        rows += 1
        position += length
        if rows == table.shape[0]:
            break
    return rows


def scan(buffer: Buffer, start: int, end: int, most: int | None = None) -> Table:
    """Find the complete batches between two positions.

    Args:
        buffer: Bytes as a broker sent them.
        start: Position of the first batch.
        end: Position after the last byte of this partition.
        most: Upper bound on the batches, by default none.

    Returns:
        One row per batch, with the columns named above.

    Raises:
        CorruptBatchError: A batch has another magic than 2 or an impossible length or count.
    """
    if not 0 <= start <= end <= len(buffer):
        raise CorruptBatchError(f"range {start} to {end} in a buffer of {len(buffer)} bytes")
    table = np.empty((most or max(1, (end - start) // HEADER_SIZE), COLUMNS), np.int64)
    rows = int(_scan(buffer, start, end, table))
    if rows < 0:
        at = -rows - 1
        raise CorruptBatchError(
            f"magic {int(buffer[at + 16])} or a bad length at byte {at - start}", at - start
        )
    return table[:rows]


@loop("int64(int64[:, ::1], int64)")
def _plain(table: Any, expected: Any) -> Any:
    for row in range(table.shape[0]):
        dense = table[row, LAST] - table[row, BASE] + 1 == table[row, COUNT]
        special = table[row, ATTRIBUTES] & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL)
        if table[row, BASE] != expected or special != 0 or not dense:
            return row
        expected = table[row, LAST] + 1
    return table.shape[0]


def plain_prefix(table: Table, expected: int) -> int:
    """Return the number of leading batches that may be sent unopened.

    Such a batch follows the one before it without a hole, holds a record for every offset, and is
    neither transactional nor a control batch nor stamped by the broker (LogAppendTime).
    """
    return int(_plain(table, expected))


@loop("int64(uint8[::1], int64[:, ::1], uint8[::1], int64[:, ::1])")
def _same(a: Any, a_table: Any, b: Any, b_table: Any) -> Any:
    for row in range(len(a_table)):
        size = a_table[row, LENGTH]
        left = a[a_table[row, POSITION] : a_table[row, POSITION] + size]
        right = b[b_table[row, POSITION] : b_table[row, POSITION] + size]
        differ = np.uint8(0)
        if b_table[row, ATTRIBUTES] & LOG_APPEND_TIME == 0:
            for i in range(27, 35):
                differ |= left[i] ^ right[i]
        for i in range(HEADER_SIZE, size):
            differ |= left[i] ^ right[i]
        if differ:
            return row
    return len(a_table)


def same_prefix(a: Buffer, a_table: Table, b: Buffer, b_table: Table) -> int:
    """Return how many leading pairs of batches have equal timestamps and record bytes.

    Both batches of a pair must have the same length. If the batch in `b` is stamped by its broker
    (LogAppendTime), its timestamp does not count.
    """
    return int(_same(a, a_table, b, b_table))


@loop("uint32(uint32, uint32)")
def _times(a: Any, b: Any) -> Any:
    product = np.uint32(0)
    for bit in range(32):
        if a & np.uint32(1 << (31 - bit)):
            product ^= b
        b = (b >> np.uint32(1)) ^ (np.uint32(POLYNOMIAL) * (b & np.uint32(1)))
    return product


@loop("void(uint8[::1], int64[:, ::1], int64, int64, int64, int64)", allocates=True)
def _stamp(buffer: Any, table: Any, producer: Any, epoch: Any, sequence: Any, added: Any) -> None:
    before = np.empty(36, np.uint8)
    for row in range(table.shape[0]):
        position = table[row, POSITION]
        for i in range(36):
            before[i] = buffer[position + 21 + i]
        attributes = np.int64(_number(buffer, position + 21, 2)) & CODEC_MASK | added
        _put(buffer, position, 8, np.uint64(0))
        _put(buffer, position + 12, 4, np.uint64(0xFFFFFFFF))
        _put(buffer, position + 21, 2, np.uint64(attributes))
        _put(buffer, position + 43, 8, np.uint64(producer))
        _put(buffer, position + 51, 2, np.uint64(epoch))
        _put(buffer, position + 53, 4, np.uint64(sequence))
        crc = np.uint32(0)
        for i in range(36):
            changed = before[i] ^ buffer[position + 21 + i]
            crc = (crc >> np.uint32(8)) ^ BYTES[(crc ^ np.uint32(changed)) & np.uint32(0xFF)]
        zeros = table[row, LENGTH] - 57
        k = 3
        while zeros != 0:
            if zeros & 1:
                crc = _times(SHIFTS[k & 31], crc)
            zeros >>= 1
            k += 1
        crc = np.uint32(table[row, CRC]) ^ crc
        table[row, CRC] = np.int64(crc)
        _put(buffer, position + 17, 4, np.uint64(crc))
        sequence = (sequence + table[row, COUNT]) & 0x7FFFFFFF


def stamp(
    buffer: Buffer,
    table: Table,
    producer_id: int,
    sequence: int,
    *,
    epoch: int = 0,
    transactional: bool = False,
) -> None:
    """Write producer id, epoch and consecutive sequences into batch headers, in place.

    The base offset becomes 0 and the leader epoch -1, as in any produced batch. All attributes but
    the codec are cleared, and the transactional bit is set if the batches belong to a transaction
    of ours: brokers refuse what says that a broker stamped it (`LogValidator.validateTimestamp`),
    also where they stamp it anew. The `CRC` column of `table` then holds the new checksums.
    """
    added = TRANSACTIONAL if transactional else 0
    _stamp(buffer, table, producer_id, epoch, sequence % SEQUENCES, added)


def visible(table: Table, aborted: Iterable[tuple[int, int]]) -> Mask:
    """Return a mask of the batches with records that a consumer of committed data sees.

    Args:
        table: Batches of one fetch response.
        aborted: Its aborted transactions.
    """
    special = table[:, ATTRIBUTES] & (TRANSACTIONAL | CONTROL) != 0
    seen = np.ones(len(table), np.bool_)
    transactions = AbortedTransactions(aborted)
    for index in np.flatnonzero(special).tolist():
        row = table[index].tolist()
        seen[index] = not transactions.void(row[LAST], row[ATTRIBUTES], row[PRODUCER])
    return seen
