"""The partition of a key by Java's default partitioner: murmur2 modulo the count."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from towpath.wire.batch import Table
from towpath.wire.loops import inlined, loop
from towpath.wire.records import COLUMN, binary_column

NOWHERE = -1
"""In place of the partition of a null key."""
_SEED, _MIX = np.uint32(0x9747B28C), np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)


def hashes(keys: pa.Array) -> Table:
    """Return the hash of each key, before Java's clients take it modulo the partition count.

    Args:
        keys: Keys, binary. A null key has the hash `NOWHERE`.
    """
    out = np.empty(len(keys), np.int64)
    _hash(binary_column(keys), out)
    return out


def places(found: Table, count: int) -> npt.NDArray[np.int64]:
    """Return the partition of each hash among `count`, `NOWHERE` for a null key."""
    return np.where(found == NOWHERE, NOWHERE, found % count)


@inlined
def _murmur2(data: Any, at: Any, size: Any) -> Any:
    """Return the hash of some bytes (`Utils.murmur2` of Kafka's clients), without its sign."""
    found = _SEED ^ np.uint32(size)
    end = at + (size & ~3)
    for place in range(at, end, 4):
        word = np.uint32(data[place]) | np.uint32(data[place + 1]) << np.uint32(8)
        word |= np.uint32(data[place + 2]) << np.uint32(16)
        word |= np.uint32(data[place + 3]) << np.uint32(24)
        word = np.uint32(word * _MIX)
        word = np.uint32(word ^ (word >> np.uint32(24)))
        word = np.uint32(word * _MIX)
        found = np.uint32(np.uint32(found * _MIX) ^ word)
    left = size & 3
    if left == 3:
        found = np.uint32(found ^ np.uint32(data[end + 2]) << np.uint32(16))
    if left >= 2:
        found = np.uint32(found ^ np.uint32(data[end + 1]) << np.uint32(8))
    if left >= 1:
        found = np.uint32(np.uint32(found ^ np.uint32(data[end])) * _MIX)
    found = np.uint32(found ^ (found >> np.uint32(13)))
    found = np.uint32(found * _MIX)
    return np.uint32(found ^ (found >> np.uint32(15))) & _POSITIVE


@loop(f"void({COLUMN}, int64[::1])")
def _hash(keys: Any, out: Any) -> None:
    """Fill in the hash of each key."""
    spans, data = keys
    for index in range(len(spans)):
        at, size = spans[index, 0], spans[index, 1]
        out[index] = NOWHERE if size < 0 else np.int64(_murmur2(data, at, size))
