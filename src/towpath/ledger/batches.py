"""Entries in record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from towpath.ledger.entries import Entry, encode
from towpath.ledger.topic import APPEND_BYTES
from towpath.model.clock import now_ms
from towpath.wire import batch as batches
from towpath.wire import records
from towpath.wire.codec import NONE, ZSTD

_SMALL = 1024
"""Bytes of values up to which a batch is not compressed."""


def rows(batch: memoryview) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Return offset, key and value of each record that has a key."""
    if batches.BatchHeader.read(batch).attributes & batches.CONTROL:
        return
    found = records.decode(batch)
    columns = (found[name].to_pylist() for name in ("offset", "key", "value"))
    yield from (row for row in zip(*columns, strict=True) if row[1] is not None)


def packed(entries: Iterable[Entry]) -> Iterator[bytearray]:
    """Return the record batches of entries, in order."""
    keys: list[bytes] = []
    values: list[bytes | None] = []
    size = 0
    for entry in entries:
        key, value = encode(entry)
        more = len(key) + len(value or b"")
        size += more
        if keys and size > APPEND_BYTES:
            yield _batch(keys, values)
            keys, values, size = [], [], more
        keys.append(key)
        values.append(value)
    if keys:
        yield _batch(keys, values)


def _batch(keys: list[bytes], values: list[bytes | None]) -> bytearray:
    count = len(keys)
    columns = {
        "offset": pa.array(range(count), pa.int64()),
        "timestamp": pa.array([now_ms()] * count, pa.int64()),
        "key": pa.array(keys, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "headers": pa.array([[]] * count, records.RECORDS.field("headers").type),
    }
    size = sum(len(value or b"") for value in values)
    codec = ZSTD if size > _SMALL else NONE
    return records.encode(pa.RecordBatch.from_pydict(columns, schema=records.RECORDS), codec)
