"""Record batches of magic 2 as they lie in a buffer: find them, read and patch their headers.

Nothing here opens a batch. Layout (big endian, Kafka protocol page, "Record Batch"; KIP-98):

    base offset i64 @0   length i32 @8        leader epoch i32 @12   magic i8 @16
    crc u32 @17          attributes i16 @21   last delta i32 @23     first time i64 @27
    max time i64 @35     producer i64 @43     epoch i16 @51          sequence i32 @53
    count i32 @57        records @61

The checksum covers everything from @21 on. `stamp` changes bytes in the first 40 of those only,
and CRC-32C is linear, so the new checksum follows from the old one and the changed bytes
(docs/decisions/0001): the records are never read, and damage done to them on the way is
still seen by the target broker.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt
from numba import njit

from towpath.model.errors import CorruptBatchError

HEADER_SIZE = 61
MAGIC = 2
CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
KEPT_ATTRIBUTES = CODEC_MASK | LOG_APPEND_TIME
"""What a copied batch keeps; transactional, control and delete-horizon bits are the source's."""

SEQUENCES = 1 << 31
"""Sequences wrap here (KIP-98)."""

Buffer = npt.NDArray[np.uint8]
Table = npt.NDArray[np.int64]

POSITION, LENGTH, BASE, LAST, COUNT, ATTRIBUTES, PRODUCER, MAX_TIME, LEADER_EPOCH, CRC = range(10)
"""Columns of the table that `scan` returns; `LAST` is the last offset of the batch."""
COLUMNS = 10

_PLAIN = struct.Struct(">qiibIhiqqqhii")


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """The header of one batch, read the slow and readable way."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    first_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @classmethod
    def read(cls, batch: bytes | bytearray | memoryview) -> BatchHeader:
        """Read the header at the front of `batch`.

        Raises:
            CorruptBatchError: Fewer than 61 bytes, or another magic than 2.
        """
        if len(batch) < HEADER_SIZE:
            raise CorruptBatchError(f"{len(batch)} bytes, a header has {HEADER_SIZE}")
        header = cls(*_PLAIN.unpack_from(batch))
        if header.magic != MAGIC:
            raise CorruptBatchError(f"magic {header.magic}, expected {MAGIC}")
        return header

    def write(self) -> bytes:
        """Return the 61 bytes of this header, with the checksum as it stands in it."""
        return _PLAIN.pack(*(getattr(self, name) for name in self.__slots__))


def seal(batch: bytearray) -> bytearray:
    """Write the true checksum into `batch` and return it."""
    struct.pack_into(">I", batch, 17, google_crc32c.value(bytes(memoryview(batch)[21:])))
    return batch


def sound(batch: bytes | bytearray | memoryview) -> bool:
    """Whether the checksum of `batch` is true."""
    view = memoryview(batch)
    return bool(google_crc32c.value(bytes(view[21:])) == int.from_bytes(view[17:21], "big"))


def _shift_table() -> npt.NDArray[np.uint32]:
    """x^(2^k) modulo the CRC-32C polynomial, bit-reflected, for k = 0 to 31."""
    table = np.zeros(32, np.uint32)
    power = 1 << 30
    for k in range(32):
        table[k] = power
        power = _multiply(power, power)
    return table


def _multiply(a: int, b: int) -> int:
    """Multiply two bit-reflected polynomials modulo the CRC-32C polynomial."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    return product


def _byte_table() -> npt.NDArray[np.uint32]:
    """The 256 remainders of the bytewise CRC-32C."""
    table = np.zeros(256, np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table[byte] = crc
    return table


_BYTES = _byte_table()
_SHIFTS = _shift_table()


@njit("uint64(uint8[::1], int64, int64)", cache=True)
def _number(buffer: Any, position: Any, size: Any) -> Any:
    value = np.uint64(0)
    for i in range(position, position + size):
        value = (value << np.uint64(8)) | np.uint64(buffer[i])
    return value


@njit("void(uint8[::1], int64, int64, uint64)", cache=True)
def _put(buffer: Any, position: Any, size: Any, value: Any) -> None:
    for i in range(size):
        buffer[position + size - 1 - i] = np.uint8((value >> np.uint64(8 * i)) & np.uint64(0xFF))


@njit("int64(uint8[::1], int64, int64, int64[:, ::1])", cache=True)
def _scan(buffer: Any, start: Any, end: Any, table: Any) -> Any:
    """Fill `table` and return the rows, or minus the position of what is no batch, minus one."""
    rows = 0
    position = start
    while position + 17 <= end:
        length = np.int64(np.int32(_number(buffer, position + 8, 4))) + 12
        if position + length > end and length >= 61:
            break
        if buffer[position + 16] != 2 or length < 61:
            return -position - 1
        base = np.int64(_number(buffer, position, 8))
        table[rows, 0] = position
        table[rows, 1] = length
        table[rows, 2] = base
        table[rows, 3] = base + np.int64(np.int32(_number(buffer, position + 23, 4)))
        table[rows, 4] = np.int64(np.int32(_number(buffer, position + 57, 4)))
        table[rows, 5] = np.int64(np.int16(_number(buffer, position + 21, 2)))
        table[rows, 6] = np.int64(_number(buffer, position + 43, 8))
        table[rows, 7] = np.int64(_number(buffer, position + 35, 8))
        table[rows, 8] = np.int64(np.int32(_number(buffer, position + 12, 4)))
        table[rows, 9] = np.int64(_number(buffer, position + 17, 4))
        if table[rows, 3] < base or table[rows, 4] < 0:
            return -position - 1
        rows += 1
        position += length
        if rows == table.shape[0]:
            break
    return rows


def scan(buffer: Buffer, start: int, end: int) -> Table:
    """Find the whole batches between two positions; an incomplete last one is left out.

    Args:
        buffer: Bytes as a broker sent them.
        start: Position of the first batch.
        end: Position behind the last byte that belongs to this partition.

    Returns:
        One row per batch, with the columns named above.

    Raises:
        CorruptBatchError: A batch has another magic than 2 or an impossible length or count.
    """
    if not 0 <= start <= end <= len(buffer):
        raise CorruptBatchError(f"range {start} to {end} in a buffer of {len(buffer)} bytes")
    table = np.empty((max(1, (end - start) // HEADER_SIZE), COLUMNS), np.int64)
    rows = int(_scan(buffer, start, end, table))
    if rows < 0:
        at = -rows - 1
        raise CorruptBatchError(
            f"magic {int(buffer[at + 16])} or a bad length at byte {at - start}"
        )
    return table[:rows]


@njit("int64(int64[:, ::1], int64, int64)", cache=True)
def _plain(table: Any, expected: Any, small: Any) -> Any:
    for row in range(table.shape[0]):
        dense = table[row, 3] - table[row, 2] + 1 == table[row, 4]
        special = table[row, 5] & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL)
        if table[row, 2] != expected or special != 0 or not dense or table[row, 1] < small:
            return row
        expected = table[row, 3] + 1
    return table.shape[0]


def plain_prefix(table: Table, expected: int, small: int = 0) -> int:
    """How many leading batches may be sent on as they are.

    Such a batch follows its predecessor without a hole, holds a record for every offset, is
    neither transactional nor control nor stamped by the broker's clock, and has at least
    `small` bytes.
    """
    return int(_plain(table, expected, small))


@njit("uint32(uint32, uint32)", cache=True)
def _times(a: Any, b: Any) -> Any:
    product = np.uint32(0)
    for bit in range(32):
        if a & np.uint32(1 << (31 - bit)):
            product ^= b
        b = (b >> np.uint32(1)) ^ (np.uint32(0x82F63B78) * (b & np.uint32(1)))
    return product


@njit("void(uint8[::1], int64[:, ::1], int64, int64)", cache=True)
def _stamp(buffer: Any, table: Any, producer: Any, sequence: Any) -> None:
    before = np.empty(36, np.uint8)
    for row in range(table.shape[0]):
        position = table[row, 0]
        for i in range(36):
            before[i] = buffer[position + 21 + i]
        attributes = np.int64(_number(buffer, position + 21, 2)) & KEPT_ATTRIBUTES
        _put(buffer, position, 8, np.uint64(0))
        _put(buffer, position + 12, 4, np.uint64(0xFFFFFFFF))
        _put(buffer, position + 21, 2, np.uint64(attributes))
        _put(buffer, position + 43, 8, np.uint64(producer))
        _put(buffer, position + 51, 2, np.uint64(0))
        _put(buffer, position + 53, 4, np.uint64(sequence))
        crc = np.uint32(0)
        for i in range(36):
            changed = before[i] ^ buffer[position + 21 + i]
            crc = (crc >> np.uint32(8)) ^ _BYTES[(crc ^ np.uint32(changed)) & np.uint32(0xFF)]
        zeros = table[row, 1] - 57
        k = 3
        while zeros != 0:
            if zeros & 1:
                crc = _times(_SHIFTS[k & 31], crc)
            zeros >>= 1
            k += 1
        crc = np.uint32(table[row, 9]) ^ crc
        table[row, 9] = np.int64(crc)
        _put(buffer, position + 17, 4, np.uint64(crc))
        sequence = (sequence + table[row, 4]) & 0x7FFFFFFF


def stamp(buffer: Buffer, table: Table, producer_id: int, sequence: int) -> None:
    """Make the batches of `table` ours, in place: producer, epoch 0, following sequences.

    Base offset becomes 0 and leader epoch -1 as in any produced batch; the transactional, control
    and delete-horizon bits go. The `CRC` column of `table` then holds the new checksums.
    """
    _stamp(buffer, table, producer_id, sequence % SEQUENCES)
