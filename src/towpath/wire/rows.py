"""Location of the parts of records, the first pass of decoding and of digests."""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.model.errors import CorruptBatchError
from towpath.wire import opened, varint
from towpath.wire.batch import LOG_APPEND_TIME, Table
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import OpenedBatches

OFFSET, TIME, KEY_AT, KEY_SIZE, VALUE_AT, VALUE_SIZE, HEADERS_AT, HEADERS = range(8)
"""Columns of the table that `parse` returns. A size of -1 is null, `HEADERS` is their number."""
_COLUMNS = 8

_REASONS = (
    "",
    "a record does not fit its batch",
    "a key, value or header does not fit its record",
    "bytes behind the last record",
)


def parse(source: OpenedBatches) -> Table:
    """Locate the parts of records, one row per record.

    Raises:
        CorruptBatchError: The bytes are not records.
    """
    rows = np.empty((source.count(), _COLUMNS), np.int64)
    bad, reason = _parse(source.data, source.batches, rows)
    if reason:
        raise CorruptBatchError(f"batch {bad} of {len(source.batches)}: {_REASONS[reason]}")
    return rows


@inlined
def piece(data: Any, position: Any, end: Any) -> Any:
    """Return size and start of a key, value or header, and the next position or -1."""
    size, start = varint.fast_read(data, position, end)
    if start < 0 or size > end - start:
        return np.int64(-1), np.int64(0), np.int64(-1)
    if size < 0:
        # Kafka reads every negative length as null.
        return np.int64(-1), start, start
    return size, start, start + size


@inlined
def _skip_headers(data: Any, position: Any, end: Any, count: Any) -> Any:
    """Return the position after the headers, or -1."""
    for _ in range(count):
        size, _start, position = piece(data, position, end)
        if position < 0 or size < 0:
            return np.int64(-1)
        size, _start, position = piece(data, position, end)
        if position < 0:
            return np.int64(-1)
    return position


@inlined
def parse_record(data: Any, position: Any, end: Any, row: Any) -> Any:
    """Fill a row with the parts of a record; return whether the bytes are well-formed."""
    row[TIME], position = varint.fast_read(data, position + 1, end)
    if position < 0:
        return False
    row[OFFSET], position = varint.fast_read(data, position, end)
    if position < 0:
        return False
    row[KEY_SIZE], row[KEY_AT], position = piece(data, position, end)
    if position < 0:
        return False
    row[VALUE_SIZE], row[VALUE_AT], position = piece(data, position, end)
    if position < 0:
        return False
    row[HEADERS], position = varint.fast_read(data, position, end)
    if position < 0 or row[HEADERS] < 0 or row[HEADERS] > end - position:
        return False
    row[HEADERS_AT] = position
    return _skip_headers(data, position, end, row[HEADERS]) == end


@inlined
def _parse_batch(data: Any, batch: Any, rows: Any) -> Any:
    """Fill the rows of one batch. Returns the number of the reason if it is damaged, or 0."""
    position, stop = batch[opened.START], batch[opened.END]
    for index in range(len(rows)):
        length, position = varint.fast_read(data, position, stop)
        if position < 0 or length < 0 or length > stop - position:
            return 1
        row = rows[index]
        if not parse_record(data, position, position + length, row):
            return 2
        row[OFFSET] += batch[opened.BASE]
        row[TIME] += batch[opened.FIRST_TIME]
        if batch[opened.ATTRIBUTES] & LOG_APPEND_TIME:
            row[TIME] = batch[opened.MAX_TIME]
        position += length
    return 0 if position == stop else 3


@loop(f"UniTuple(int64, 2)({READ_ONLY}, int64[:, ::1], int64[:, ::1])")
def _parse(data: Any, batches: Any, rows: Any) -> Any:
    """Fill `rows`. Returns the bad batch and the number of the reason, or -1 and 0."""
    at = 0
    for b in range(len(batches)):
        count = batches[b, opened.COUNT]
        reason = _parse_batch(data, batches[b], rows[at : at + count])
        if reason:
            return b, reason
        at += count
    return -1, 0
