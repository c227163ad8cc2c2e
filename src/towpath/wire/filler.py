"""Batches of empty records, which occupy offsets.

A new target partition is filled with them up to the offset where its source begins, and then they
are deleted. A gap between records is filled with them inside an aborted transaction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from towpath.wire import varint
from towpath.wire.batch import TRANSACTIONAL, sealed
from towpath.wire.codec import ZSTD, compress
from towpath.wire.loops import loop

LARGEST = 1_000_000
"""Most records of a filler: 0.8 MB, about 0.1 s of work for a broker."""

_ROOM = 7 + varint.LONGEST
_NULL, _EMPTY = 1, 0  # the varints of the lengths -1 and 0


def filler(
    count: int,
    *,
    now_ms: int,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    keyed: bool = False,
) -> bytes:
    """Return a zstd batch of `count` records without key and value.

    Args:
        count: How many offsets to take, up to a million.
        now_ms: Timestamp of all records.
        producer_id: The producer id, -1 for none.
        epoch: Epoch of the producer.
        sequence: Sequence of the first record.
        transactional: Whether the records belong to the producer's transaction.
        keyed: Give the records an empty key, because a compacted topic refuses records without a
            key. The value stays null, so the cleaner removes records that were not deleted.

    Raises:
        ValueError: `count` is not between 1 and a million.
    """
    if not 1 <= count <= LARGEST:
        raise ValueError(f"a filler of {count} records, possible are 1 to {LARGEST}")
    return bytes(
        sealed(
            _records(count, keyed),
            attributes=ZSTD | TRANSACTIONAL if transactional else ZSTD,
            count=count,
            times=(now_ms, now_ms),
            producer=(producer_id, epoch, sequence),
        )
    )


@lru_cache(maxsize=16)
def _records(count: int, keyed: bool) -> bytes:
    out = np.empty(count * _ROOM, np.uint8)
    return compress(ZSTD, out[: _fill(out, count, _EMPTY if keyed else _NULL)])


@loop("int64(uint8[::1], int64, int64)")
def _fill(out: Any, count: Any, key: Any) -> Any:
    """Write the records and return their bytes."""
    at = 0
    for delta in range(count):
        at = varint.fast_write(out, at, 5 + varint.fast_size(delta))
        out[at] = 0  # attributes
        out[at + 1] = 0  # time
        at = varint.fast_write(out, at + 2, delta)
        out[at] = key
        out[at + 1] = _NULL
        out[at + 2] = 0  # headers
        at += 3
    return at
