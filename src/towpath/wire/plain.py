"""Records and their bytes, written the slow and readable way.

A record after its length: attributes i8, time delta, offset delta, key, value, headers; all
numbers are varints, a length of -1 is null (Kafka protocol page, "Record").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from towpath.wire import varint

Header = tuple[bytes, bytes | None]

_I64 = 1 << 64


@dataclass(frozen=True, slots=True)
class Record:
    """One record; null and empty are different."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int = -1
    offset: int = 0


def record_bytes(records: Sequence[Record], offset_deltas: Iterable[int]) -> bytes:
    """Return what stands behind the header, uncompressed; times relate to the first record."""
    data = bytearray()
    for record, delta in zip(records, offset_deltas, strict=True):
        body = _body(record, _wrapped(record.timestamp - records[0].timestamp), delta)
        varint.write(data, len(body))
        data += body
    return bytes(data)


def _body(record: Record, time_delta: int, offset_delta: int) -> bytes:
    out = bytearray(1)
    varint.write(out, time_delta)
    varint.write(out, offset_delta)
    _write_bytes(out, record.key)
    _write_bytes(out, record.value)
    varint.write(out, len(record.headers))
    for name, value in record.headers:
        _write_bytes(out, name)
        _write_bytes(out, value)
    return bytes(out)


def _write_bytes(out: bytearray, value: bytes | None) -> None:
    varint.write(out, -1 if value is None else len(value))
    out += value or b""


def _wrapped(value: int) -> int:
    """Return what 64 bits keep of a sum."""
    return (value + (_I64 >> 1)) % _I64 - (_I64 >> 1)
