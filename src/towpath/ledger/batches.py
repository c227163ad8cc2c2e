"""Encoding of ledger entries as record batches, and decoding.

Neither numba nor Arrow is used: loading them takes longer than reading most ledgers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.ledger.entries import Entry, encode
from towpath.ledger.topic import APPEND_BYTES
from towpath.runtime.clock import now_ms
from towpath.wire import plain
from towpath.wire.codec import NONE, ZSTD
from towpath.wire.header import CONTROL, BatchHeader

_SMALL = 1024
"""Bytes of values up to which a batch is not compressed."""


def rows(batch: memoryview) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Return offset, key and value of each record that has a key.

    Raises:
        CorruptBatchError: The batch is damaged.
    """
    if BatchHeader.read(batch).attributes & CONTROL:
        return
    for record in plain.decode(batch):
        if record.key is not None:
            yield record.offset, record.key, record.value


def packed(entries: Iterable[Entry]) -> Iterator[bytearray]:
    """Return the record batches of entries, in order."""
    keys: list[tuple[bytes, bytes | None]] = []
    size = 0
    for entry in entries:
        key, value = encode(entry)
        more = len(key) + len(value or b"")
        size += more
        if keys and size > APPEND_BYTES:
            yield batch(keys)
            keys, size = [], more
        keys.append((key, value))
    if keys:
        yield batch(keys)


def batch(pairs: Iterable[tuple[bytes | None, bytes | None]]) -> bytearray:
    """Return one record batch with these keys and values; each timestamp is the current time."""
    now = now_ms()
    records = [plain.Record(key, value, (), now) for key, value in pairs]
    size = sum(len(record.value or b"") for record in records)
    return plain.encode(records, ZSTD if size > _SMALL else NONE)
