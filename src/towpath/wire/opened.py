"""Batches opened for reading: checked headers and decompressed record bytes.

Decoding, re-encoding and digests start here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import google_crc32c
import numpy as np
import numpy.typing as npt

from towpath.model.errors import CorruptBatchError
from towpath.wire.batch import CODEC_MASK, HEADER_SIZE, MAGIC, Buffer, Bytes, Table
from towpath.wire.codec import LZ4, NONE
from towpath.wire.crc import SLICES
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.unpacking import alone, unpack

START, END, COUNT, BASE, LAST_DELTA, FIRST_TIME, MAX_TIME, ATTRIBUTES, SIZE = range(9)
"""Columns of `OpenedBatches.batches`: position of the records, header fields, compressed size."""
COLUMNS = 9

SMALLEST_RECORD = 7
"""Length, attributes, time, offset, key length, value length, header count."""

_REASONS = (
    "",
    "it does not lie inside the buffer, or its length field differs from its size",
    f"its magic is not {MAGIC}",
    "it has a negative record count or offset delta",
    "its checksum is wrong",
)
_LARGE = 2048  # from this size on, a call into google_crc32c is cheaper than the loop

Number = TypeVar("Number", np.uint8, np.uint64, np.int32, np.int64)


@dataclass(frozen=True, slots=True)
class PackedSource:
    """The compressed records that opened ones come from, of a single LZ4 batch.

    Attributes:
        packed: The compressed records.
        size: How many bytes they are when decompressed.
        pieces: Bytes that are the same in the opened records: where they are in the decompressed
            source, where in the opened records, and how many.
    """

    packed: Buffer
    size: int
    pieces: Table


@dataclass(frozen=True, slots=True)
class OpenedBatches:
    """Record bytes of several batches in one buffer, with header fields by batch.

    Attributes:
        data: The bytes.
        batches: The batches, with the columns above.
        origin: What the records of a single batch come from, `None` if that is of no use.
    """

    data: Buffer
    batches: Table
    origin: PackedSource | None = None

    def count(self) -> int:
        """Return the number of records.

        Raises:
            CorruptBatchError: The headers claim more records than the bytes can hold.
        """
        single = len(self.batches) == 1  # sums take ten times as long as a look
        count = int(self.batches[0, COUNT] if single else self.batches[:, COUNT].sum())
        if count * SMALLEST_RECORD > self.size():
            raise CorruptBatchError(f"{count} records in {self.size()} bytes")
        return count

    def in_codec(self, codec: int) -> OpenedBatches:
        """Return the same records, marked as if all batches had one codec."""
        batches = self.batches.copy()
        batches[:, ATTRIBUTES] = batches[:, ATTRIBUTES] & ~CODEC_MASK | codec
        return OpenedBatches(self.data, batches)

    def size(self) -> int:
        """Return the uncompressed size of all records, in bytes."""
        if len(self.batches) == 1:
            return int(self.batches[0, END] - self.batches[0, START])
        return int((self.batches[:, END] - self.batches[:, START]).sum())


def open_batches(buffer: Buffer, positions: Table, lengths: Table) -> OpenedBatches:
    """Check and decompress batches of magic 2, of at most `LIMIT` bytes together.

    Args:
        buffer: The batches.
        positions: Position of the first byte of each batch.
        lengths: Size of each batch in bytes, header included.

    Raises:
        CorruptBatchError: A batch has a wrong checksum or size, or cannot be decompressed.
    """
    data, batches = read_headers(buffer, positions, lengths)
    if len(batches) == 1:
        return _single(data, batches)
    if not (batches[:, ATTRIBUTES] & CODEC_MASK).any():
        return OpenedBatches(data, batches)
    return _decompressed(data, batches)


def read_headers(buffer: Buffer, positions: Table, lengths: Table) -> tuple[Buffer, Table]:
    """Check batches of magic 2; return the buffer and the columns of `OpenedBatches.batches`.

    `START` and `END` are the positions of the records in the buffer, still compressed.

    Raises:
        CorruptBatchError: A batch has a wrong checksum or size.
    """
    data = read_only(buffer)
    batches = np.empty((len(positions), COLUMNS), np.int64)
    bad, reason = _headers(data, positions, lengths, batches)
    if bad < 0:
        bad, reason = _large_checksums(data, positions, lengths)
    if bad >= 0:
        raise CorruptBatchError(f"batch {bad} of {len(positions)}: {_REASONS[reason]}")
    return data, batches


def open_batch(batch: Bytes) -> OpenedBatches:
    """Check and decompress a single batch."""
    data = np.frombuffer(batch, np.uint8)
    return open_batches(data, np.zeros(1, np.int64), np.array([len(data)], np.int64))


def read_only(buffer: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return a read-only view, as the compiled functions require it."""
    view = buffer.view()
    view.flags.writeable = False
    return view


def _decompressed(data: Buffer, batches: Table) -> OpenedBatches:
    places = np.ascontiguousarray(batches[:, (START, END, ATTRIBUTES)])
    places[:, 2] &= CODEC_MASK
    whole = unpack(data, places)
    batches[:, START], batches[:, END] = places[:, 0], places[:, 1]
    return OpenedBatches(read_only(whole), batches)


def _single(data: Buffer, batches: Table) -> OpenedBatches:
    codec = int(batches[0, ATTRIBUTES]) & CODEC_MASK
    if codec == NONE:
        return OpenedBatches(data, batches)
    packed = data[int(batches[0, START]) : int(batches[0, END])]
    whole = read_only(alone(codec, packed))
    batches[0, START], batches[0, END] = 0, len(whole)
    origin = None
    if codec == LZ4:
        origin = PackedSource(packed, len(whole), np.array([(0, 0, len(whole))], np.int64))
    return OpenedBatches(whole, batches, origin)


def _large_checksums(data: Buffer, positions: Table, lengths: Table) -> tuple[int, int]:
    for index in [i for i, size in enumerate(lengths.tolist()) if size > _LARGE]:
        start, end = int(positions[index]), int(positions[index] + lengths[index])
        if google_crc32c.value(data[start + 21 : end]) != int.from_bytes(
            data[start + 17 : start + 21].tobytes(), "big"
        ):
            return index, 4
    return -1, 0


@inlined
def _number(data: Any, position: Any, size: Any) -> Any:
    value = np.uint64(0)
    for i in range(position, position + size):
        value = (value << np.uint64(8)) | np.uint64(data[i])
    return value


@inlined
def _checksum(data: Any, position: Any, end: Any) -> Any:
    crc = np.uint32(0xFFFFFFFF)
    mask = np.uint32(0xFF)
    while position + 8 <= end:
        crc ^= (
            np.uint32(data[position])
            | np.uint32(data[position + 1]) << np.uint32(8)
            | np.uint32(data[position + 2]) << np.uint32(16)
            | np.uint32(data[position + 3]) << np.uint32(24)
        )
        crc = (
            SLICES[7, crc & mask]
            ^ SLICES[6, (crc >> np.uint32(8)) & mask]
            ^ SLICES[5, (crc >> np.uint32(16)) & mask]
            ^ SLICES[4, crc >> np.uint32(24)]
            ^ SLICES[3, data[position + 4]]
            ^ SLICES[2, data[position + 5]]
            ^ SLICES[1, data[position + 6]]
            ^ SLICES[0, data[position + 7]]
        )
        position += 8
    while position < end:
        crc = (crc >> np.uint32(8)) ^ SLICES[0, (crc ^ np.uint32(data[position])) & mask]
        position += 1
    return crc ^ np.uint32(0xFFFFFFFF)


@inlined
def _fault(data: Any, position: Any, length: Any) -> Any:
    """Return the number of the reason why these bytes are not a batch, or 0."""
    if position < 0 or length < HEADER_SIZE or position > len(data) - length:
        return 1
    if np.int64(np.int32(_number(data, position + 8, 4))) + 12 != length:
        return 1
    if data[position + 16] != MAGIC:
        return 2
    count = np.int32(_number(data, position + 57, 4))
    if count < 0 or np.int32(_number(data, position + 23, 4)) < 0:
        return 3
    if length <= _LARGE:
        crc = np.uint32(_number(data, position + 17, 4))
        if _checksum(data, position + 21, position + length) != crc:
            return 4
    return 0


@loop(f"UniTuple(int64, 2)({READ_ONLY}, int64[::1], int64[::1], int64[:, ::1])")
def _headers(data: Any, positions: Any, lengths: Any, batches: Any) -> Any:
    """Fill `batches`. Returns the first bad row and the number of the reason, or -1 and 0."""
    for row in range(len(positions)):
        position, length = positions[row], lengths[row]
        reason = _fault(data, position, length)
        if reason:
            return row, reason
        batches[row, START] = position + HEADER_SIZE
        batches[row, END] = position + length
        batches[row, COUNT] = np.int32(_number(data, position + 57, 4))
        batches[row, BASE] = np.int64(_number(data, position, 8))
        batches[row, LAST_DELTA] = np.int32(_number(data, position + 23, 4))
        batches[row, FIRST_TIME] = np.int64(_number(data, position + 27, 8))
        batches[row, MAX_TIME] = np.int64(_number(data, position + 35, 8))
        batches[row, ATTRIBUTES] = np.int16(_number(data, position + 21, 2))
        batches[row, SIZE] = length - HEADER_SIZE
    return -1, 0
