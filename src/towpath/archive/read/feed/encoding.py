"""Archived rows encoded as batches that lanes send unchanged, and batches for empty offsets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from towpath.archive.format.packing import BATCH_BYTES, columns_of
from towpath.archive.read.feed.supply import Chunk, Chunks
from towpath.model.nouns import SourceOffset
from towpath.wire.batch import BASE, CONTROL, POSITION, Table, scan, sealed
from towpath.wire.packing import Packed, RowPacker, Rows, pack, used_again

_NO_TIME = -1
_MOST_OFFSETS = 1 << 31
"""Offsets of a batch at most."""
NO_VOIDS: Table = np.empty((0, 2), np.int64)


def encoded(
    rows: pa.RecordBatch, codec: int, most: int = BATCH_BYTES, voids: Table = NO_VOIDS
) -> Packed:
    """Encode archived rows as record batches with their original offsets.

    Brokers refuse LogAppendTime from clients, so records that had it get the same time as
    CreateTime.

    Args:
        rows: Rows with the schema `ARCHIVED`, in the order of their offsets.
        codec: Number of the codec. Bytes that it hardly makes smaller stay as they are.
        most: Uncompressed bytes of a batch, unless a single record is larger.
        voids: Rows of first offset and end, in order, which become control batches (`nothing`).

    Raises:
        ValueError: Offsets do not ascend.
    """
    columns = columns_of(rows, append_time=False)
    return _with_voids(pack(columns, codec, most=most, apart=True, useful=True), voids)


def chunks(
    pieces: Iterable[Rows], codec: int, most: int = BATCH_BYTES, voids: Table = NO_VOIDS
) -> Chunks:
    """Yield archived columns as record batches; see `encoded`.

    Args:
        pieces: The records, all with CreateTime. Each piece is used before the next one is taken.
        codec: Number of the codec.
        most: Uncompressed bytes of a batch, unless a single record is larger.
        voids: Rows of first offset and end, in order, which become control batches (`nothing`).
            Those behind the last record are left out.

    Raises:
        ValueError: Offsets do not ascend.
    """
    for run in RowPacker(codec, most=most, apart=True, useful=True).all_of(pieces):
        known = voids[voids[:, 0] < run.last]
        voids, end = voids[len(known) :], SourceOffset(run.last + 1)
        if not len(known):
            yield Chunk(run.data, end, told=end, memory=run.memory)
            continue
        data = _with_voids(run.data, known)
        if run.memory is not None:
            used_again(run.memory)
        yield Chunk(data, end, told=end)


def _with_voids(data: Packed, voids: Table) -> Packed:
    """Return batches with control batches between them."""
    if not len(voids):
        return data
    table = scan(np.frombuffer(data, np.uint8), 0, len(data))
    ends = np.append(table[:, POSITION], len(data))
    made, at, view = bytearray(), 0, memoryview(data)
    before = ends[np.searchsorted(table[:, BASE], voids[:, 0])]
    for (first, end), position in zip(voids.tolist(), before.tolist(), strict=True):
        made += view[at:position]
        made += nothing(first, end)
        at = position
    made += view[at:]
    return made


def nothing(first: int, end: int) -> bytearray:
    """Return a control batch without records that covers the offsets [first, end).

    It stands for the marker of a transaction and for aborted records, as a broker would hand them
    out, so a lane does with these offsets what a mirror does. It is never sent.
    """
    made = bytearray()
    while first < end:
        last = min(end, first + _MOST_OFFSETS) - 1
        made += sealed(
            b"",
            attributes=CONTROL,
            count=0,
            times=(_NO_TIME, _NO_TIME),
            base_offset=first,
            last_delta=last - first,
        )
        first = last + 1
    return made
