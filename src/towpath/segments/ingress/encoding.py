"""Archived records as record batches again, without a Python object per record.

Each batch has a record for every offset that it covers, so lanes send it on unopened. The codec is
that of the restore: an archive of Parquet files does not know how producers had compressed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.segments.format.schema import to_millis
from towpath.wire.batch import CONTROL, Table, sealed
from towpath.wire.records import RECORDS, encode

BATCH_BYTES = 512 << 10
"""Raw bytes of records in a batch, about. Producers rarely make larger ones."""
_MOST_RECORDS = 1 << 20
_OVERHEAD = 16
"""Bytes that a record takes besides its key, value and headers, about."""
_HEADERS = RECORDS.field("headers").type
_NO_TIME = -1
NO_VOIDS: Table = np.empty((0, 2), np.int64)


def encoded(
    records: pa.RecordBatch, codec: int, most: int = BATCH_BYTES, voids: Table = NO_VOIDS
) -> bytearray:
    """Return archived records as record batches, one behind the other.

    Args:
        records: Columns of `ARCHIVED`, in the order of offsets.
        codec: Number of the codec.
        most: Raw bytes of a batch at most, unless a single record is larger.
        voids: Rows of first offset and end, in order, that become control batches; see `nothing`.
            Those behind the last record are left out.

    Raises:
        ValueError: A record does not fit in a batch, or a header has no name.
    """
    if not len(records):
        return bytearray()
    offsets = np.asarray(records.column("offset"), np.int64)
    rows = as_rows(records)
    made, left = bytearray(), deque(voids.tolist())
    for first, end in _parts(offsets, _sizes(rows), most):
        base = int(offsets[first])
        while left and left[0][0] < base:
            made += nothing(*left.popleft())
        made += encode(rows.slice(first, end - first), codec, base_offset=base)
    return made


def nothing(first: int, end: int) -> bytearray:
    """Return a control batch without records that covers the offsets [first, end).

    It stands for the marker of a transaction and for aborted records, as a broker would hand them
    out, so a lane does with these offsets what a mirror does. It is never sent.
    """
    made = bytearray()
    while first < end:
        last = min(end, first + (1 << 31)) - 1
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


def as_rows(records: pa.RecordBatch) -> pa.RecordBatch:
    """Return archived records with the columns of `RECORDS`."""
    columns = [
        records.column("offset"),
        pa.array(to_millis(records)),
        records.column("key"),
        records.column("value"),
        _headers(records.column("headers")),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS)


def _headers(lists: pa.ListArray) -> pa.ListArray:
    """Return the headers under the names that the encoder knows; a null list has none."""
    if lists.null_count:
        lists = pc.fill_null(lists, pa.scalar([], lists.type))
    pairs = lists.values
    named = pa.StructArray.from_arrays(
        [pairs.field(0), pairs.field(1)], fields=[*_HEADERS.value_type]
    )
    whole = pa.ListArray.from_arrays(_whole_offsets(lists), named, type=_HEADERS)
    return whole.slice(lists.offset, len(lists))


def _whole_offsets(lists: pa.ListArray) -> pa.Array:
    """Return the positions of all lists, also of those before a slice."""
    return pa.Array.from_buffers(
        pa.int32(), lists.offset + len(lists) + 1, [None, lists.buffers()[1]]
    )


def _sizes(rows: pa.RecordBatch) -> Table:
    """Return the raw size of each record, about."""
    sizes = np.full(len(rows), _OVERHEAD, np.int64)
    for name in ("key", "value"):
        sizes += np.asarray(pc.binary_length(rows.column(name)).fill_null(0), np.int64)
    lists = rows.column("headers")
    if len(lists.values):
        ends = np.frombuffer(lists.buffers()[1], np.int32)[
            lists.offset : lists.offset + len(rows) + 1
        ]
        pairs = [
            np.asarray(pc.binary_length(lists.values.field(n)).fill_null(0), np.int64)
            for n in range(2)
        ]
        before = np.concatenate(([0], np.cumsum(pairs[0] + pairs[1])))
        sizes += before[ends[1:]] - before[ends[:-1]]
    return sizes


def _parts(offsets: Table, sizes: Table, most: int) -> Iterator[tuple[int, int]]:
    """Yield the rows [first, end) of each batch: a run of offsets without holes, not too large."""
    ends = np.flatnonzero(np.diff(offsets) != 1) + 1
    behind = np.cumsum(sizes)
    first = 0
    for end in [*ends.tolist(), len(offsets)]:
        while first < end:
            room = (behind[first - 1] if first else 0) + most
            fits = int(np.searchsorted(behind, room, "right"))
            stop = min(end, max(fits, first + 1), first + _MOST_RECORDS)
            yield first, stop
            first = stop
