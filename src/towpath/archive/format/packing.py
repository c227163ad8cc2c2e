"""Conversion of archived rows back into record batches, and their digest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from towpath.archive.format.schema import (
    HEADERS,
    KEY,
    LEADER_EPOCH,
    OFFSET,
    TIMESTAMP_TYPE,
    VALUE,
    to_millis,
)
from towpath.model.digest import Digest
from towpath.wire import packing
from towpath.wire.digesting import digest_rows
from towpath.wire.packing import Packed, Rows
from towpath.wire.records import ByteColumn, binary_column, spans_of

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
) -> Packed:
    """Pack archived rows into record batches with their original offsets.

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
    columns = columns_of(rows, append_time=append_time)
    return packing.pack(columns, codec, most=most, apart=apart, useful=useful)


def digest_of(rows: pa.RecordBatch) -> Digest:
    """Return the digest of archived rows, equal to the digest of their original batches."""
    return digest_rows(columns_of(rows, append_time=False))


def columns_of(
    rows: pa.RecordBatch,
    *,
    append_time: bool,
    keys: ByteColumn | None = None,
    values: ByteColumn | None = None,
) -> Rows:
    """Convert archived rows into columns for packing or hashing.

    Args:
        rows: Rows with the schema `ARCHIVED`. Keys and values may be missing where they are given,
            and so may columns that do not go into batches.
        append_time: Whether records with LogAppendTime have that type.
        keys: The keys of the rows, if they were read already.
        values: The values of the rows, if they were read already.
    """
    types = (
        np.asarray(rows.column(TIMESTAMP_TYPE)) if append_time else np.zeros(len(rows), np.int32)
    )
    headers = rows.column(HEADERS)
    pairs = headers.values
    return Rows(
        offsets=np.asarray(rows.column(OFFSET)),
        times=to_millis(rows),
        types=types,
        epochs=np.asarray(rows.column(LEADER_EPOCH).fill_null(_NO_EPOCH)),
        keys=binary_column(rows.column(KEY)) if keys is None else keys,
        values=binary_column(rows.column(VALUE)) if values is None else values,
        lists=spans_of(headers),
        names=binary_column(pairs.field(0)),
        contents=binary_column(pairs.field(1)),
    )
