"""Archived rows as record batches again, and their digest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from towpath.model.digest import Digest
from towpath.segments.format.schema import (
    HEADERS,
    KEY,
    LEADER_EPOCH,
    OFFSET,
    TIMESTAMP_TYPE,
    VALUE,
    to_millis,
)
from towpath.wire import packing
from towpath.wire.digesting import digest_rows
from towpath.wire.packing import Rows

BATCH_BYTES = 512 << 10
"""Uncompressed bytes of a batch, unless a single record is larger. Producers rarely make larger
ones, and brokers accept a megabyte by default."""
_NO_EPOCH = -1


def pack_rows(
    rows: pa.RecordBatch,
    codec: int,
    *,
    most: int = BATCH_BYTES,
    apart: bool = False,
    append_time: bool = True,
    useful: bool = False,
) -> bytearray:
    """Return archived rows as record batches, one behind the other, at their own offsets.

    Args:
        rows: Rows with the schema `ARCHIVED`, in the order of their offsets.
        codec: Number of the codec of the batches (`wire/codec.py`).
        most: Uncompressed bytes of a batch, unless a single record is larger.
        apart: Leave no hole inside a batch, so that lanes send each batch on unopened.
        append_time: Give records with LogAppendTime that type again; otherwise they get the same
            time as CreateTime, and need no batches of their own.
        useful: Compress no more once a batch has become hardly smaller.

    Raises:
        ValueError: Offsets do not ascend.
    """
    columns = _rows(rows, append_time=append_time)
    return packing.pack(columns, codec, most=most, apart=apart, useful=useful)


def digest_of(rows: pa.RecordBatch) -> Digest:
    """Return the digest of archived rows, as that of the batches which they came from."""
    return digest_rows(_rows(rows, append_time=False))


def _rows(rows: pa.RecordBatch, *, append_time: bool) -> Rows:
    types = (
        np.asarray(rows.column(TIMESTAMP_TYPE)) if append_time else np.zeros(len(rows), np.int32)
    )
    return Rows(
        offsets=np.asarray(rows.column(OFFSET)),
        times=to_millis(rows),
        types=types,
        epochs=np.asarray(rows.column(LEADER_EPOCH).fill_null(_NO_EPOCH)),
        keys=rows.column(KEY),
        values=rows.column(VALUE),
        headers=rows.column(HEADERS),
    )
