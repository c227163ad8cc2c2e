"""Writing columns of records as many batches at once, at the offsets that the records have.

`wire/records.py` writes one batch without holes; here one pass writes all batches of some rows,
with holes between the records of a batch where they are allowed, and types of time as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt

from towpath.wire import varint
from towpath.wire.batch import HEADER_SIZE, LOG_APPEND_TIME, Buffer, Table
from towpath.wire.codec import NONE, compress
from towpath.wire.header import MAGIC, BatchHeader
from towpath.wire.loops import inlined, loop
from towpath.wire.opened import read_only
from towpath.wire.records import COLUMN, ByteColumn, bytes_of, piece_size, put_piece
from towpath.wire.spare import Spares

FROM, TO, FIRST, COUNT = range(4)
"""Columns of the table of packed batches: their record bytes, the first row and how many."""
_COLUMNS = 4
_ROOM = 6 * varint.LONGEST + 1
"""Most bytes of a record besides its key, value and headers."""
_USEFUL = 0.97
"""The part of its size above which a batch is not worth compressing, nor those behind it."""
_LAST_DELTA = (1 << 31) - 1
_MOST = 1 << 20
"""Upper bound on the records of a batch."""

_I64, _I32 = (f"Array({kind}, 1, 'C', readonly=True)" for kind in ("int64", "int32"))

_SPARE_ROOM: Spares[Buffer] = Spares(4)
_MOST_SPARE = 32 << 20
"""Bytes of the largest memory that is kept to be used again."""

Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Columns of records, in the order of their offsets.

    Attributes:
        offsets: Offsets, which ascend.
        times: Timestamps in ms, or -1.
        types: 0 for CreateTime, 1 for LogAppendTime.
        epochs: Leader epochs, or -1.
        keys: Keys.
        values: Values.
        lists: For each record, the first of its headers, and how many it has.
        names: Names of the headers.
        contents: Values of the headers.
    """

    offsets: Table
    times: Table
    types: Numbers
    epochs: Numbers
    keys: ByteColumn
    values: ByteColumn
    lists: Table
    names: ByteColumn
    contents: ByteColumn


def pack(
    rows: Rows, codec: int, *, most: int, apart: bool = False, useful: bool = False
) -> bytearray:
    """Return the records as record batches, one behind the other, as in a fetch response.

    A batch ends where the type of time or the leader epoch changes, since it has one of each for
    all its records. All records of a batch with LogAppendTime have the same time.

    Args:
        rows: The records.
        codec: Number of the codec.
        most: Uncompressed bytes of a batch, unless a single record is larger.
        apart: Begin a new batch after each hole between offsets.
        useful: Compress no more once a batch has become hardly smaller.

    Raises:
        ValueError: A header has no name, offsets do not ascend, or there is no such codec.
    """
    if not len(rows.offsets):
        return bytearray()
    if (np.diff(rows.offsets) <= 0).any():
        raise ValueError("offsets of records that do not ascend")
    room = _SPARE_ROOM.take()
    data, table = _packed(rows, most, apart, room)
    parts: list[bytes | memoryview] = []
    for start, stop, first, count in table.tolist():
        raw = read_only(data[start:stop])
        packed = raw if codec == NONE else compress(codec, raw)
        if useful and len(packed) > _USEFUL * len(raw):
            codec, packed = NONE, raw
        parts.append(_header(rows, codec, first, count, packed))
        parts.append(packed if isinstance(packed, bytes) else packed.data)
    made = bytearray().join(parts)  # at once: a buffer that grows is copied again and again
    if len(data) <= _MOST_SPARE:
        _SPARE_ROOM.give(data)
    return made


def _packed(rows: Rows, most: int, apart: bool, room: Buffer | None) -> tuple[Buffer, Table]:
    """Return memory with the record bytes of the batches, `room` if that is large enough."""
    columns = (rows.keys, rows.values, rows.names, rows.contents)
    if (rows.names[0][:, 1] < 0).any():
        raise ValueError("a header without a name")
    size = len(rows.lists) * _ROOM + len(rows.names[0]) * 2 * varint.LONGEST
    size += sum(bytes_of(each[0]) for each in columns)
    out = room if room is not None and len(room) >= size else np.empty(size, np.uint8)
    table = np.empty((len(rows.lists), _COLUMNS), np.int64)
    count = _pack(
        read_only(rows.offsets), read_only(rows.times), read_only(rows.types),
        read_only(rows.epochs), rows.keys, rows.values, rows.lists, rows.names, rows.contents,
        most - HEADER_SIZE, apart, out, table,
    )  # fmt: skip
    return out, table[:count]


def _header(rows: Rows, codec: int, first: int, count: int, packed: bytes | Buffer) -> bytes:
    """Return the header of a batch, with its checksum."""
    times = rows.times[first : first + count]
    base = int(rows.offsets[first])
    header = BatchHeader(
        base_offset=base,
        length=HEADER_SIZE - 12 + len(packed),
        leader_epoch=int(rows.epochs[first]),
        magic=MAGIC,
        crc=0,
        attributes=codec | (LOG_APPEND_TIME if rows.types[first] else 0),
        last_offset_delta=int(rows.offsets[first + count - 1]) - base,
        first_timestamp=int(times[0]),
        max_timestamp=int(times.max()),
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        count=count,
    ).write()
    crc: int = google_crc32c.extend(google_crc32c.value(header[21:]), packed)
    return header[:17] + crc.to_bytes(4, "big") + header[21:]


@inlined
def _joins(
    index: Any, row: Any, offsets: Any, times: Any, types: Any, epochs: Any, apart: Any
) -> Any:
    """Whether a record may stand in the batch of the one before it, for all but its size."""
    first = row[FIRST]
    if types[index] != types[first] or epochs[index] != epochs[first]:
        return False
    if types[index] and times[index] != times[first]:
        return False
    if apart and offsets[index] != offsets[index - 1] + 1:
        return False
    return offsets[index] - offsets[first] <= _LAST_DELTA and row[COUNT] < _MOST


@inlined
def _parts_size(index: Any, keys: Any, values: Any, lists: Any, names: Any, contents: Any) -> Any:
    first, count = lists[index, 0], max(lists[index, 1], 0)
    size = 1 + varint.fast_size(count) + piece_size(keys, index) + piece_size(values, index)
    for header in range(first, first + count):
        size += piece_size(names, header) + piece_size(contents, header)
    return size


@inlined
def _put(
    index: Any,
    size: Any,
    time: Any,
    delta: Any,
    keys: Any,
    values: Any,
    lists: Any,
    names: Any,
    contents: Any,
    out: Any,
    at: Any,
) -> Any:
    """Write a record. Returns the position after it."""
    at = varint.fast_write(out, at, size)
    out[at] = 0
    at = varint.fast_write(out, at + 1, time)
    at = varint.fast_write(out, at, delta)
    at = put_piece(out, at, keys, index)
    at = put_piece(out, at, values, index)
    first, count = lists[index, 0], max(lists[index, 1], 0)
    at = varint.fast_write(out, at, count)
    for header in range(first, first + count):
        at = put_piece(out, at, names, header)
        at = put_piece(out, at, contents, header)
    return at


@loop(
    f"int64({_I64}, {_I64}, {_I32}, {_I32}, {COLUMN}, {COLUMN}, int64[:, ::1], {COLUMN}, {COLUMN},"
    " int64, boolean, uint8[::1], int64[:, ::1])"
)
def _pack(
    offsets: Any,
    times: Any,
    types: Any,
    epochs: Any,
    keys: Any,
    values: Any,
    lists: Any,
    names: Any,
    contents: Any,
    room: Any,
    apart: Any,
    out: Any,
    table: Any,
) -> Any:
    """Write the records. Returns the number of batches."""
    at = batches = 0
    for index in range(len(offsets)):
        body = _parts_size(index, keys, values, lists, names, contents)
        joined = False
        time = delta = size = np.int64(0)
        if batches:
            row = table[batches - 1]
            time, delta = times[index] - times[row[FIRST]], offsets[index] - offsets[row[FIRST]]
            size = body + varint.fast_size(time) + varint.fast_size(delta)
            fits = at + size + varint.fast_size(size) - row[FROM] <= room
            joined = fits and _joins(index, row, offsets, times, types, epochs, apart)
        if not joined:
            row = table[batches]
            row[FROM], row[FIRST], row[COUNT] = at, index, 0
            batches += 1
            time = delta = np.int64(0)
            size = body + 2
        at = _put(index, size, time, delta, keys, values, lists, names, contents, out, at)
        row = table[batches - 1]
        row[TO] = at
        row[COUNT] += 1
    return batches
