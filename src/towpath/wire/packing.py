"""Encoding of record columns as batches that keep the records' offsets.

`wire/records.py` writes one batch without holes; here rows become as many batches as they need,
with holes between the records of a batch where they are allowed, and types of time as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

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

TO, COUNT, LATEST, NEEDED = range(4)
"""Columns of what a batch has become: the end of its record bytes, how many they are, their latest
time, and the end of the first record if there is no room for it."""
_COLUMNS = 4
_ROOM = 6 * varint.LONGEST + 1
"""Most bytes of a record besides its key, value and headers."""
_USEFUL = 0.97
"""The part of its size above which a batch is not worth compressing, nor those behind it."""
_LAST_DELTA = (1 << 31) - 1
_MOST = 1 << 20
"""Upper bound on the records of a batch."""
_DISORDER, _NAMELESS = -1, -2
_REASONS = {
    _DISORDER: "offsets of records that do not ascend",
    _NAMELESS: "a header without a name",
}

_I64, _I32 = (f"Array({kind}, 1, 'C', readonly=True)" for kind in ("int64", "int32"))

_SPARE_ROOM: Spares[Buffer] = Spares(4)
_MOST_SPARE = 4 << 20
"""Bytes of the largest memory that is kept to be used again."""

Packed: TypeAlias = "bytearray | memoryview"
"""Record batches, one behind the other, in memory that nobody else uses and that can be written."""

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


def pack(rows: Rows, codec: int, *, most: int, apart: bool = False, useful: bool = False) -> Packed:
    """Pack the records into consecutive record batches, as in a fetch response.

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
    packing, parts = _Packing(rows, most, apart), list[bytes | memoryview]()
    while packing.left and codec != NONE:
        raw = packing.batch()
        packed = compress(codec, raw)
        if useful and len(packed) > _USEFUL * len(raw):
            codec = NONE
        else:
            parts += (packing.header(codec, packed), packed)
            packing.go_on()
    packing.give_back()
    if not parts and packing.left:
        return packing.all_left()
    if packing.left:
        parts.append(packing.all_left())
    return bytearray().join(parts)  # at once: a buffer that grows is copied again and again


class _Packing:
    """Batches that are made of records, one after the other.

    Each is compressed while its bytes are in the cache of the processor. Those that stay as they
    are lie at once where they are wanted.
    """

    def __init__(self, rows: Rows, most: int, apart: bool) -> None:
        self._rows = rows
        self._columns = (
            read_only(rows.offsets), read_only(rows.times), read_only(rows.types),
            read_only(rows.epochs), rows.keys, rows.values, rows.lists, rows.names, rows.contents,
            most - HEADER_SIZE, apart,
        )  # fmt: skip
        self._first = self._next = 0
        self._made: Table = np.empty(_COLUMNS, np.int64)
        self._room = _SPARE_ROOM.take()
        if self._room is None or len(self._room) < most:
            self._room = np.empty(most, np.uint8)

    @property
    def left(self) -> int:
        """Number of records that are in no batch yet."""
        return len(self._rows.offsets) - self._first

    def batch(self) -> Buffer:
        """Return the records of the next batch, valid until the next call."""
        assert self._room is not None  # noqa: S101  # until `give_back`
        if not self._put(self._room, 0):
            self._room = np.empty(int(self._made[NEEDED]), np.uint8)
            self._put(self._room, 0)
        return read_only(self._room[: self._made[TO]])

    def go_on(self) -> None:
        """Start the next batch after the present one."""
        self._first = self._next

    def give_back(self) -> None:
        """Return the memory of `batch` to the pool."""
        if self._room is not None and len(self._room) <= _MOST_SPARE:
            _SPARE_ROOM.give(self._room)
        self._room = None

    def all_left(self) -> memoryview:
        """Return all remaining batches, uncompressed."""
        out, at = np.empty(self._size_left(), np.uint8), 0
        while self.left:
            self._put(out, at + HEADER_SIZE)
            start, end = at + HEADER_SIZE, int(self._made[TO])
            out[at:start] = np.frombuffer(self.header(NONE, read_only(out[start:end])), np.uint8)
            at = end
            self.go_on()
        return out[:at].data

    def header(self, codec: int, packed: bytes | Buffer) -> bytes:
        """Return the header of the batch, with its checksum."""
        rows, first = self._rows, self._first
        base = int(rows.offsets[first])
        header = BatchHeader(
            base_offset=base,
            length=HEADER_SIZE - 12 + len(packed),
            leader_epoch=int(rows.epochs[first]),
            magic=MAGIC,
            crc=0,
            attributes=codec | (LOG_APPEND_TIME if rows.types[first] else 0),
            last_offset_delta=int(rows.offsets[self._next - 1]) - base,
            first_timestamp=int(rows.times[first]),
            max_timestamp=int(self._made[LATEST]),
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            count=int(self._made[COUNT]),
        ).write()
        crc: int = google_crc32c.extend(google_crc32c.value(header[21:]), packed)
        return header[:17] + crc.to_bytes(4, "big") + header[21:]

    def _put(self, out: Buffer, at: int) -> bool:
        """Write the records of the next batch. Returns whether there was room for any."""
        self._next = int(_pack(self._first, *self._columns, out, at, self._made))
        if self._next < 0:
            raise ValueError(_REASONS[self._next])
        return self._next > self._first

    def _size_left(self) -> int:
        """Return how many bytes further batches take at most."""
        rows, first = self._rows, self._first
        size = self.left * (_ROOM + HEADER_SIZE) + len(rows.names[0]) * 2 * varint.LONGEST
        size += bytes_of(rows.names[0]) + bytes_of(rows.contents[0])
        return size + bytes_of(rows.keys[0][first:]) + bytes_of(rows.values[0][first:])


@inlined
def _joins(
    index: Any, first: Any, offsets: Any, times: Any, types: Any, epochs: Any, apart: Any
) -> Any:
    """Whether a record may stand in the batch of the one before it, for all but its size."""
    if types[index] != types[first] or epochs[index] != epochs[first]:
        return False
    if types[index] and times[index] != times[first]:
        return False
    if apart and offsets[index] != offsets[index - 1] + 1:
        return False
    return offsets[index] - offsets[first] <= _LAST_DELTA and index - first < _MOST


@inlined
def _parts_size(index: Any, keys: Any, values: Any, lists: Any, names: Any, contents: Any) -> Any:
    """Return the bytes of key, value and headers; -1 if a header has no name."""
    first, count = lists[index, 0], max(lists[index, 1], 0)
    size = 1 + varint.fast_size(count) + piece_size(keys, index) + piece_size(values, index)
    for header in range(first, first + count):
        if names[0][header, 1] < 0:
            return np.int64(-1)
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
    f"int64(int64, {_I64}, {_I64}, {_I32}, {_I32}, {COLUMN}, {COLUMN}, int64[:, ::1], {COLUMN},"
    f" {COLUMN}, int64, boolean, uint8[::1], int64, int64[::1])"
)
def _pack(
    first: Any,
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
    start: Any,
    made: Any,
) -> Any:
    """Write the records of one batch. Returns the first one that is not in it, or a reason."""
    at, index = start, first
    made[LATEST] = times[first]
    while index < len(offsets):
        if index and offsets[index] <= offsets[index - 1]:
            return np.int64(_DISORDER)
        body = _parts_size(index, keys, values, lists, names, contents)
        if body < 0:
            return np.int64(_NAMELESS)
        time, delta = times[index] - times[first], offsets[index] - offsets[first]
        size = body + varint.fast_size(time) + varint.fast_size(delta)
        end = at + size + varint.fast_size(size)
        if index > first:
            fits = end - start <= room and end <= len(out)
            if not (fits and _joins(index, first, offsets, times, types, epochs, apart)):
                break
        elif end > len(out):
            made[NEEDED] = end
            break
        at = _put(index, size, time, delta, keys, values, lists, names, contents, out, at)
        made[LATEST] = max(made[LATEST], times[index])
        index += 1
    made[TO], made[COUNT] = at, index - first
    return index
