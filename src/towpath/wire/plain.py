"""Decoding and encoding records in plain Python.

The ledger is read and written this way: it is small, and neither numba nor Arrow must be loaded.
`wire/records.py` does the same fast; tests prove both equal.

A record after its length: attributes i8, timestamp delta, offset delta, key, value, headers. All
numbers but the attributes are varints, and a length of -1 is null (Kafka protocol page, "Record").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from towpath.model.errors import CorruptBatchError
from towpath.wire.codec import NONE, compress, unpacked
from towpath.wire.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    sealed,
    sound,
)

Header = tuple[bytes, bytes | None]

_I64 = 1 << 64
_LONGEST = 10
"""Bytes of the longest varint that fits 64 bits."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record; a null key or value differs from an empty one."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int = -1
    offset: int = 0

    @property
    def size(self) -> int:
        """Bytes of the record's key, value and headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


def decode(batch: bytes | bytearray | memoryview) -> tuple[Record, ...]:
    """Decode the records of one whole batch.

    Args:
        batch: A batch of magic 2, with nothing after it.

    Raises:
        CorruptBatchError: The bytes are not such a batch.
    """
    header = BatchHeader.read(batch)
    if header.length + 12 != len(batch):
        raise CorruptBatchError(f"{len(batch)} bytes, its header says {header.length + 12}")
    if header.count < 0 or header.last_offset_delta < 0:
        raise CorruptBatchError(f"{header.count} records, last delta {header.last_offset_delta}")
    if not sound(batch):
        raise CorruptBatchError("its checksum is wrong")
    packed = memoryview(batch)[HEADER_SIZE:]
    data = unpacked(header.attributes & CODEC_MASK, packed).tobytes()
    return tuple(_read_records(header, data))


def encode(
    records: Sequence[Record],
    codec: int = NONE,
    *,
    base_offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytearray:
    """Encode records as a batch with consecutive offsets from `base_offset` on.

    Raises:
        ValueError: There are no records, or no such codec.
    """
    if not records:
        raise ValueError("a batch of no records")
    return sealed(
        compress(codec, record_bytes(records, range(len(records)))),
        attributes=codec | TRANSACTIONAL if transactional else codec,
        count=len(records),
        times=(records[0].timestamp, max(record.timestamp for record in records)),
        base_offset=base_offset,
        producer=(producer_id, producer_epoch, base_sequence),
    )


def record_of(data: bytes | memoryview, *, timestamp: int, offset: int) -> Record:
    """Decode the record in these bytes of a batch, which include its length.

    Args:
        data: The bytes.
        timestamp: Its timestamp in ms since 1970, or -1; in the bytes it is relative to the batch.
        offset: Its offset, likewise.

    Raises:
        CorruptBatchError: The bytes are not one record.
    """
    length, position = read_varint(data, 0)
    body = bytes(data[position:])
    if len(body) != length:
        raise CorruptBatchError(f"{len(body)} bytes of a record, its length says {length}")
    _, _, key, value, headers = _parts(body)
    return Record(key, value, headers, timestamp, offset)


def record_bytes(records: Sequence[Record], offset_deltas: Iterable[int]) -> bytes:
    """Encode records without compression; timestamps are relative to the first record."""
    data = bytearray()
    for record, delta in zip(records, offset_deltas, strict=True):
        body = _body(record, _wrapped(record.timestamp - records[0].timestamp), delta)
        write_varint(data, len(body))
        data += body
    return bytes(data)


def _body(record: Record, time_delta: int, offset_delta: int) -> bytes:
    out = bytearray(1)
    write_varint(out, time_delta)
    write_varint(out, offset_delta)
    _write_bytes(out, record.key)
    _write_bytes(out, record.value)
    write_varint(out, len(record.headers))
    for name, value in record.headers:
        _write_bytes(out, name)
        _write_bytes(out, value)
    return bytes(out)


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    write_varint(out, -1 if value is None else len(value))
    out += value or b""


def write_varint(out: bytearray, value: int) -> None:
    """Append `value` to `out` as a zigzag varint."""
    rest = value << 1 if value >= 0 else ~(value << 1)
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def read_varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Decode the varint at `position`; return it and the position after it.

    Raises:
        CorruptBatchError: The data ends inside the varint, or it does not fit into 64 bits.
    """
    value = 0
    for index in range(_LONGEST):
        if position + index >= len(data):
            raise CorruptBatchError("the data ends inside a varint")
        byte = data[position + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if value >> 64:
                break
            return (value >> 1) ^ -(value & 1), position + index + 1
    raise CorruptBatchError("a varint of more than 64 bits")


def _read_records(header: BatchHeader, data: bytes) -> Iterator[Record]:
    position = 0
    for _ in range(header.count):
        length, position = read_varint(data, position)
        body = data[position : position + length]
        if length < 0 or len(body) < length:
            raise CorruptBatchError(f"a record of {length} bytes does not fit its batch")
        yield _read_record(header, body)
        position += length
    if position != len(data):
        raise CorruptBatchError(f"{len(data) - position} bytes behind the last record")


def _read_record(header: BatchHeader, body: bytes) -> Record:
    time_delta, offset_delta, key, value, headers = _parts(body)
    timestamp = header.first_timestamp + time_delta
    if header.attributes & LOG_APPEND_TIME:
        timestamp = header.max_timestamp
    offset = header.base_offset + offset_delta
    return Record(key, value, headers, _wrapped(timestamp), _wrapped(offset))


def _parts(body: bytes) -> tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]:
    """Return what stands behind the length of a record."""
    time_delta, position = read_varint(body, 1)
    offset_delta, position = read_varint(body, position)
    key, position = _read_bytes(body, position)
    value, position = _read_bytes(body, position)
    count, position = read_varint(body, position)
    if not 0 <= count <= len(body):
        raise CorruptBatchError(f"a record of {len(body)} bytes with {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        name, position = _read_bytes(body, position)
        if name is None:
            raise CorruptBatchError("a header without a name")
        header_value, position = _read_bytes(body, position)
        headers.append((name, header_value))
    if position != len(body):
        raise CorruptBatchError(f"{len(body) - position} bytes behind a record's last header")
    return time_delta, offset_delta, key, value, tuple(headers)


def _read_bytes(body: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position)
    if length < 0:
        # Kafka reads every negative length as null.
        return None, position
    value = body[position : position + length]
    if len(value) < length:
        raise CorruptBatchError(f"{length} bytes of a record reach beyond its end")
    return value, position + length


def _wrapped(value: int) -> int:
    """Return a sum as a signed integer of 64 bits."""
    return (value + (_I64 >> 1)) % _I64 - (_I64 >> 1)
