"""Batches of every kind, built with the readable codec, and strategies that draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import strategies as st

from towpath.wire import plain
from towpath.wire.batch import HEADER_SIZE, NO_END, BatchHeader, seal
from towpath.wire.codec import NONE, compress
from towpath.wire.digest import Digest, digest_batches
from towpath.wire.plain import Record
from towpath.wire.records import RECORDS

Table = npt.NDArray[np.int64]

CODECS = range(5)

_I64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.one_of(st.sampled_from([-1, 0]), st.integers(0, 2**42), _I64)
_BLOBS = st.binary(max_size=24)
_NULLABLE = st.one_of(st.none(), _BLOBS)

RECORD = st.builds(
    Record,
    key=_NULLABLE,
    value=_NULLABLE,
    headers=st.lists(st.tuples(_BLOBS, _NULLABLE), max_size=3).map(tuple),
    timestamp=TIMES,
)


def numbered(records: Sequence[Record], base: int = 0) -> tuple[Record, ...]:
    """Give the records offsets without holes."""
    return tuple(replace(record, offset=base + i) for i, record in enumerate(records))


def at_offsets(records: Sequence[Record], offsets: Sequence[int]) -> tuple[Record, ...]:
    return tuple(replace(r, offset=o) for r, o in zip(records, offsets, strict=True))


def batch(
    records: Sequence[Record],
    codec: int = NONE,
    *,
    attributes: int = 0,
    max_timestamp: int | None = None,
    base: int | None = None,
    last: int | None = None,
    producer_id: int = -1,
    sequence: int = 7,
) -> bytearray:
    """Return one batch with the records at their own offsets, holes included."""
    first = records[0].offset if base is None else base
    packed = compress(codec, plain.record_bytes(records, [r.offset - first for r in records]))
    times = [record.timestamp for record in records]
    return seal(
        bytearray(
            BatchHeader(
                base_offset=first,
                length=HEADER_SIZE - 12 + len(packed),
                leader_epoch=3,
                magic=2,
                crc=0,
                attributes=codec | attributes,
                last_offset_delta=(records[-1].offset if last is None else last) - first,
                first_timestamp=times[0] if times else -1,
                max_timestamp=max(times, default=-1) if max_timestamp is None else max_timestamp,
                producer_id=producer_id,
                producer_epoch=-1 if producer_id < 0 else 5,
                base_sequence=-1 if producer_id < 0 else sequence,
                count=len(records),
            ).write()
            + packed
        )
    )


def joined(batches: Sequence[bytes | bytearray]) -> tuple[npt.NDArray[np.uint8], Table, Table]:
    """Return a buffer, and position and length of each batch in it."""
    lengths = np.array([len(b) for b in batches], np.int64)
    positions = np.cumsum(lengths, dtype=np.int64) - lengths
    return np.frombuffer(b"".join(batches), np.uint8), positions, lengths


def digest_of(batch: bytes | bytearray, first: int = 0, end: int = NO_END) -> Digest:
    """Return the digest of the records of one batch whose offsets lie in a range."""
    return digest_batches(*joined([batch]), first, end)


def to_arrow(records: Sequence[Record]) -> pa.RecordBatch:
    """Return the records as the columns that the fast codec reads."""
    rows = [
        {
            "offset": r.offset,
            "timestamp": r.timestamp,
            "key": r.key,
            "value": r.value,
            "headers": [{"name": name, "value": value} for name, value in r.headers],
        }
        for r in records
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS)


def from_arrow(batch: pa.RecordBatch) -> tuple[Record, ...]:
    """Return what the fast codec made as records."""
    batch.validate(full=True)
    return tuple(
        Record(
            row["key"],
            row["value"],
            tuple((header["name"], header["value"]) for header in row["headers"]),
            row["timestamp"],
            row["offset"],
        )
        for row in batch.to_pylist()
    )


def sealed(data: bytes | bytearray) -> bytearray:
    """Return a copy whose checksum is true, so that a reader looks further than that."""
    copy = bytearray(data)
    return seal(copy) if len(copy) >= HEADER_SIZE else copy


def damages(data: bytes | bytearray) -> list[bytearray]:
    """Return every cut, and every byte changed in several ways, with true checksums."""
    out = [sealed(data[:size]) for size in range(len(data))]
    for position in range(len(data)):
        for change in (0x01, 0x80, 0xFF, 0x7F):
            damaged = bytearray(data)
            damaged[position] ^= change
            out += [damaged, sealed(damaged)]
    return out


SMALL = numbered(
    [
        Record(b"key", b"value", ((b"name", b"content"), (b"\xff", None)), 1_700_000_000_000),
        Record(None, b"", (), 1_700_000_000_001),
        Record(b"", None, ((b"", b""),), 1_700_000_000_300),
    ],
    base=1000,
)
"""Records that show every kind of null and empty."""
