"""The header of a record batch of magic 2: layout, reading, writing, checksum.

Layout (big endian, Kafka protocol page, "Record Batch"; KIP-98):

    base offset i64 @0   length i32 @8        leader epoch i32 @12   magic i8 @16
    crc u32 @17          attributes i16 @21   last delta i32 @23     first time i64 @27
    max time i64 @35     producer i64 @43     epoch i16 @51          sequence i32 @53
    count i32 @57        records @61

The checksum covers everything from @21 on. Nothing here loads numpy or numba, so that commands
which only read the ledger start quickly; the loops over many batches are in `wire/batch.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import google_crc32c

from towpath.model.errors import CorruptBatchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

HEADER_SIZE = 61
MAGIC = 2
CODEC_AT = 22
"""Position of the byte with the codec of a batch: the low byte of its attributes."""
CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
COMPARED_ATTRIBUTES = CODEC_MASK | LOG_APPEND_TIME
"""Attributes that say what the records of a batch are: not the bits for transactions, control
batches and the delete horizon."""

Buffer: TypeAlias = "npt.NDArray[np.uint8]"
Bytes: TypeAlias = "bytes | bytearray | memoryview | npt.NDArray[np.uint8]"

_PLAIN = struct.Struct(">qiibIhiqqqhii")
_CRC_AT, _SUMMED_AT = 17, 21
_BEFORE_SIZE = 12
"""Bytes of base offset and length, which the length field does not count."""


def view(data: Bytes) -> memoryview:
    """Return the bytes of an object without copying them."""
    return memoryview(data)  # type: ignore[arg-type]  # arrays are buffers, which mypy cannot know


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHeader:
    """The header of one batch, for reading one batch at a time."""

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
        """Read the header at the beginning of `batch`.

        Raises:
            CorruptBatchError: The batch has fewer than 61 bytes or another magic than 2.
        """
        if len(batch) < HEADER_SIZE:
            raise CorruptBatchError(f"{len(batch)} bytes, a header has {HEADER_SIZE}")
        header = cls(**dict(zip(cls.__slots__, _PLAIN.unpack_from(batch), strict=True)))
        if header.magic != MAGIC:
            raise CorruptBatchError(f"magic {header.magic}, expected {MAGIC}")
        return header

    def write(self) -> bytes:
        """Return the header as 61 bytes, with its checksum unchanged."""
        return _PLAIN.pack(*(getattr(self, name) for name in self.__slots__))


def sealed(
    records: Bytes,
    *,
    attributes: int,
    count: int,
    times: tuple[int, int],
    base_offset: int = 0,
    last_delta: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytearray:
    """Return a batch: a header with a correct checksum, followed by the records.

    Args:
        records: The records, compressed already.
        attributes: Codec and flags.
        count: Number of records.
        times: The first and the largest timestamp.
        base_offset: Offset of the first record.
        last_delta: Offset of the last record relative to the first. By default there are no holes.
        producer: Producer id, epoch, and the sequence of the first record, -1 for none.
    """
    size = HEADER_SIZE + len(records) - _BEFORE_SIZE
    last = count - 1 if last_delta is None else last_delta
    batch = bytearray(
        _PLAIN.pack(
            base_offset, size, -1, MAGIC, 0, attributes, last, *times, *producer, count
        )
    )  # fmt: skip
    # The checksum takes no memory that may change under it, but for that of arrays.
    fixed = bytes(records) if isinstance(records, (bytearray, memoryview)) else records
    crc = google_crc32c.extend(google_crc32c.value(bytes(batch[_SUMMED_AT:])), fixed)
    struct.pack_into(">I", batch, _CRC_AT, crc)
    batch += view(records)
    return batch


def seal(batch: bytearray) -> bytearray:
    """Write the correct checksum into `batch`, and return the batch."""
    crc = google_crc32c.value(bytes(memoryview(batch)[_SUMMED_AT:]))
    struct.pack_into(">I", batch, _CRC_AT, crc)
    return batch


def sound(batch: bytes | bytearray | memoryview) -> bool:
    """Return whether the checksum of `batch` is correct."""
    view = memoryview(batch)
    return bool(google_crc32c.value(bytes(view[21:])) == int.from_bytes(view[17:21], "big"))


def split(data: memoryview) -> Iterator[memoryview]:
    """Yield the complete batches in a fetch response.

    Raises:
        CorruptBatchError: A batch has another magic than 2 or an impossible length.
    """
    at = 0
    while at + HEADER_SIZE <= len(data):
        header = BatchHeader.read(data[at : at + HEADER_SIZE])
        size = header.length + _BEFORE_SIZE
        if size < HEADER_SIZE:
            raise CorruptBatchError(f"a batch of {size} bytes at byte {at}", at)
        if at + size > len(data):
            return
        yield data[at : at + size]
        at += size
