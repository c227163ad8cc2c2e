"""Decoding of records to Arrow and encoding, without a Python object per record.

`plain` has the same two functions in plain Python; tests prove both equal.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from towpath.wire import varint
from towpath.wire.batch import HEADER_SIZE, TRANSACTIONAL, Buffer, Bytes, Table, sealed
from towpath.wire.codec import NONE, compress
from towpath.wire.copying import copied
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import OpenedBatches, open_batch, read_only
from towpath.wire.rows import (
    HEADERS,
    HEADERS_AT,
    KEY_AT,
    KEY_SIZE,
    OFFSET,
    TIME,
    VALUE_AT,
    VALUE_SIZE,
    parse,
    piece,
)

_HEADER = pa.struct([pa.field("name", pa.binary(), nullable=False), pa.field("value", pa.binary())])
_HEADERS = pa.list_(pa.field("item", _HEADER, nullable=False))

RECORDS = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", _HEADERS, nullable=False),
    ]
)
"""Records as columns. The timestamp is in milliseconds since 1970, or -1."""

_NAME_AT, _NAME_SIZE, _CONTENT_AT, _CONTENT_SIZE = range(4)

_ROOM = 6 * varint.LONGEST + 1
"""Most bytes of a record besides its key, value and headers."""

_LONGEST_BATCH = (1 << 31) - 1

ByteColumn: TypeAlias = tuple[Table, Buffer]
"""Position and size of each element, -1 for null, and the bytes in which they lie."""
COLUMN = f"Tuple((int64[:, ::1], {READ_ONLY}))"
"""A `ByteColumn`, for compiled loops."""


def decode(batch: Bytes) -> pa.RecordBatch:
    """Decode the records of one whole batch, with the schema `RECORDS`.

    Args:
        batch: A batch of magic 2, with nothing after it.

    Raises:
        CorruptBatchError: The bytes are not such a batch.
    """
    return columns(open_batch(batch))


def columns(source: OpenedBatches) -> pa.RecordBatch:
    """Return the records of opened batches, with the schema `RECORDS`.

    Raises:
        CorruptBatchError: The bytes are not records.
    """
    data, rows = source.data, parse(source)
    count = int(rows[:, HEADERS].sum())
    headers = np.empty((count, 4), np.int64)
    _locate_headers(data, rows, headers)
    names = _binary(data, headers[:, _NAME_AT], headers[:, _NAME_SIZE])
    contents = _binary(data, headers[:, _CONTENT_AT], headers[:, _CONTENT_SIZE])
    pairs = pa.Array.from_buffers(_HEADER, count, [None], children=[names, contents])
    ends = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(rows[:, HEADERS], out=ends[1:])
    columns = [
        pa.array(rows[:, OFFSET].copy()),
        pa.array(rows[:, TIME].copy()),
        _binary(data, rows[:, KEY_AT], rows[:, KEY_SIZE]),
        _binary(data, rows[:, VALUE_AT], rows[:, VALUE_SIZE]),
        pa.Array.from_buffers(_HEADERS, len(rows), [None, pa.py_buffer(ends)], children=[pairs]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS)


def encode(
    records: pa.RecordBatch,
    codec: int = NONE,
    *,
    base_offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytearray:
    """Encode records as a batch with consecutive offsets from `base_offset` on.

    The column `offset` is ignored.

    Raises:
        ValueError: There are no records, a header has no name, there is no such codec, or the
            batch would be larger than Kafka's length field allows.
    """
    if not len(records):
        raise ValueError("a batch of no records")
    times = np.array(records.column("timestamp"), np.int64)
    packed = compress(codec, _record_bytes(records, times))
    if len(packed) + HEADER_SIZE > _LONGEST_BATCH:
        raise ValueError(f"a batch of {len(packed)} bytes, the length field ends at 2 GiB")
    return sealed(
        packed,
        attributes=codec | TRANSACTIONAL if transactional else codec,
        count=len(records),
        times=(int(times[0]), int(times.max())),
        base_offset=base_offset,
        producer=(producer_id, producer_epoch, base_sequence),
    )


def _binary(data: Buffer, positions: Table, sizes: Table) -> pa.Array:
    """Return an Arrow array with copies of parts of `data`."""
    count = len(positions)
    offsets = np.empty(count + 1, np.int32)
    valid = np.zeros((count + 7) // 8, np.uint8)
    values = np.empty(int(np.maximum(sizes, 0).sum()), np.uint8)
    nulls = _gather(data, positions, sizes, offsets, values, valid)
    return pa.Array.from_buffers(
        pa.binary(),
        count,
        [pa.py_buffer(valid) if nulls else None, pa.py_buffer(offsets), pa.py_buffer(values)],
        nulls,
    )


def _record_bytes(records: pa.RecordBatch, times: Table) -> Buffer:
    lists = records.column("headers")
    pairs = lists.values
    keys, values = binary_column(records.column("key")), binary_column(records.column("value"))
    names, contents = binary_column(pairs.field("name")), binary_column(pairs.field("value"))
    if (names[0][:, 1] < 0).any():
        raise ValueError("a header without a name")
    size = len(records) * _ROOM + len(pairs) * 2 * varint.LONGEST
    size += sum(bytes_of(column[0]) for column in (keys, values, names, contents))
    out = np.empty(size, np.uint8)
    return out[: _write(times, keys, values, spans_of(lists), names, contents, out)]


def bytes_of(spans: Table) -> int:
    """Return the size of all elements together, in bytes."""
    return int(np.maximum(spans[:, 1], 0).sum())


def binary_column(array: pa.Array) -> ByteColumn:
    """Return the elements of a binary array."""
    if not pa.types.is_binary(array.type):
        array = array.cast(pa.binary())
    data = array.buffers()[2]
    return spans_of(array), read_only(np.frombuffer(b"" if data is None else data, np.uint8))


def spans_of(array: pa.Array) -> Table:
    """Return position and size of each element of a binary or list array. Null has size -1."""
    spans = np.empty((len(array), 2), np.int64)
    if not len(array):
        return spans
    valid, offsets = array.buffers()[:2]
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    spans[:, 0] = ends[:-1]
    spans[:, 1] = np.diff(ends)
    if valid is not None:
        bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
        spans[bits[array.offset : array.offset + len(array)] == 0, 1] = -1
    return spans


@loop(f"void({READ_ONLY}, int64[:, ::1], int64[:, ::1])")
def _locate_headers(data: Any, rows: Any, headers: Any) -> None:
    at = 0
    for index in range(len(rows)):
        position, end = rows[index, HEADERS_AT], np.int64(len(data))
        for _ in range(rows[index, HEADERS]):
            header = headers[at]
            header[_NAME_SIZE], header[_NAME_AT], position = piece(data, position, end)
            header[_CONTENT_SIZE], header[_CONTENT_AT], position = piece(data, position, end)
            at += 1


@loop(f"int64({READ_ONLY}, int64[:], int64[:], int32[::1], uint8[::1], uint8[::1])")
def _gather(data: Any, positions: Any, sizes: Any, offsets: Any, values: Any, valid: Any) -> Any:
    """Copy the parts one after the other. Returns how many are null."""
    at = nulls = 0
    offsets[0] = 0
    for index in range(len(positions)):
        size = sizes[index]
        if size < 0:
            nulls += 1
        else:
            valid[index >> 3] |= np.uint8(1 << (index & 7))
            at = copied(data, positions[index], size, values, at)
        offsets[index + 1] = at
    return nulls


@inlined
def piece_size(column: Any, index: Any) -> Any:
    """Return the encoded size of an element, with its length prefix."""
    size = column[0][index, 1]
    return varint.fast_size(size) + max(size, 0)


@inlined
def put_piece(out: Any, at: Any, column: Any, index: Any) -> Any:
    """Write an element with its length prefix; return the position after it."""
    spans, data = column
    size = spans[index, 1]
    at = varint.fast_write(out, at, size)
    return copied(data, spans[index, 0], size, out, at)


@loop(f"int64(int64[::1], {COLUMN}, {COLUMN}, int64[:, ::1], {COLUMN}, {COLUMN}, uint8[::1])")
def _write(
    times: Any, keys: Any, values: Any, lists: Any, names: Any, contents: Any, out: Any
) -> Any:
    """Write the records. Returns the position after the last one."""
    at = 0
    for index in range(len(times)):
        time = times[index] - times[0]
        first, count = lists[index, 0], max(lists[index, 1], 0)
        size = 1 + varint.fast_size(time) + varint.fast_size(index) + varint.fast_size(count)
        size += piece_size(keys, index) + piece_size(values, index)
        for header in range(first, first + count):
            size += piece_size(names, header) + piece_size(contents, header)
        at = varint.fast_write(out, at, size)
        out[at] = 0
        at = varint.fast_write(out, at + 1, time)
        at = varint.fast_write(out, at, index)
        at = put_piece(out, at, keys, index)
        at = put_piece(out, at, values, index)
        at = varint.fast_write(out, at, count)
        for header in range(first, first + count):
            at = put_piece(out, at, names, header)
            at = put_piece(out, at, contents, header)
    return at
