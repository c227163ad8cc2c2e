"""Encoding of record columns as batches that keep the records' offsets.

`wire/records.py` writes one batch without holes; here rows become as many batches as they need,
with holes between the records of a batch where they are allowed, and types of time as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

from towpath.wire import varint
from towpath.wire.batch import HEADER_SIZE, LOG_APPEND_TIME, Buffer, Table
from towpath.wire.codec import NONE, compress_into, most_compressed
from towpath.wire.header import MAGIC, BatchHeader
from towpath.wire.opened import read_only
from towpath.wire.records import ByteColumn, bytes_of
from towpath.wire.row_loop import (
    BASE,
    COUNT,
    DISORDER,
    EPOCH,
    FIRST_TIME,
    KIND,
    LAST,
    LATEST,
    NAMELESS,
    NEEDED,
    TO,
    nothing_yet,
    put_rows,
)
from towpath.wire.spare import Spares

_ROOM = 6 * varint.LONGEST + 1
"""Most bytes of a record besides its key, value and headers."""
_USEFUL = 0.97
"""The part of its size above which a batch is not worth compressing, nor those behind it."""
_REASONS = {
    DISORDER: "offsets of records that do not ascend",
    NAMELESS: "a header without a name",
}
_CRC_AT, _SUMMED = 17, 21
"""Where the checksum of a batch is, and where the bytes begin that it covers."""

_SPARE_ROOM: Spares[Buffer] = Spares(4)
_MOST_SPARE = 4 << 20
"""Bytes of the largest memory that is kept to be used again."""
_RUN = 4 << 20
"""Bytes of the memory in which batches lie until they are sent."""
_SPARE_RUNS: Spares[Buffer] = Spares(12)

Packed: TypeAlias = "bytearray | memoryview"
"""Record batches, one behind the other, in memory that nobody else uses and that can be written."""

Numbers = npt.NDArray[np.int32]
_NONE: Buffer = np.empty(0, np.uint8)


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

    def part(self, first: int, values: ByteColumn) -> Rows:
        """Return the rows from number `first` on for which there are values, with these."""
        rows = slice(first, first + len(values[0]))
        spans, data = self.keys
        return replace(
            self,
            offsets=self.offsets[rows],
            times=self.times[rows],
            types=self.types[rows],
            epochs=self.epochs[rows],
            keys=(spans[rows], data),
            values=values,
            lists=self.lists[rows],
        )


@dataclass(frozen=True, slots=True)
class PackedRun:
    """Consecutive packed batches.

    Attributes:
        data: The batches.
        last: Offset of their last record.
        memory: The memory in which they lie, for `used_again` once nobody needs them.
    """

    data: Packed
    last: int
    memory: Buffer | None = None


def used_again(memory: Buffer) -> None:
    """Take memory of a `PackedRun` whose batches nobody needs any more."""
    _SPARE_RUNS.give(memory)


def pack(rows: Rows, codec: int, *, most: int, apart: bool = False, useful: bool = False) -> Packed:
    """Pack the records into consecutive record batches, as in a fetch response; see `RowPacker`.

    Raises:
        ValueError: A header has no name, offsets do not ascend, or there is no such codec.
    """
    packer = RowPacker(codec, most=most, apart=apart, useful=useful, size=_most_of(rows, most))
    runs = [*packer.all_of([rows])]
    return runs[0].data if len(runs) == 1 else bytearray().join(each.data for each in runs)


def _most_of(rows: Rows, most: int) -> int:
    """Return how many bytes all batches take at most."""
    size = len(rows.offsets) * (_ROOM + HEADER_SIZE) + len(rows.names[0]) * 2 * varint.LONGEST
    size += sum(bytes_of(each[0]) for each in (rows.keys, rows.values, rows.names, rows.contents))
    return most_compressed(size + most) + HEADER_SIZE


def put_header(
    out: Buffer,
    at: int,
    end: int,
    numbers: Table,
    attributes: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> None:
    """Write the header of a batch whose records lie behind it, with its checksum.

    Args:
        out: The memory of the batch.
        at: Where it begins.
        end: Where it ends.
        numbers: What `put_rows` tells of its records.
        attributes: Codec and flags.
        producer: Producer id, epoch, and the sequence of the first record, -1 for none.
    """
    made: list[int] = numbers.tolist()
    header = BatchHeader(
        base_offset=made[BASE],
        length=end - at - 12,
        leader_epoch=made[EPOCH],
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=made[LAST] - made[BASE],
        first_timestamp=made[FIRST_TIME],
        max_timestamp=made[LATEST],
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        count=made[COUNT],
    ).write()
    view = out.data
    view[at : at + HEADER_SIZE] = header
    crc: int = google_crc32c.value(read_only(out[at + _SUMMED : end]))
    view[at + _CRC_AT : at + _SUMMED] = crc.to_bytes(4, "big")


class RowPacker:
    """Packs records that come in pieces into consecutive record batches.

    A batch ends where the type of time or the leader epoch changes, since it has one of each for
    all its records. All records of a batch with LogAppendTime have the same time. Each batch is
    compressed while its bytes are in the cache of the processor, into the memory from which it is
    sent; one that stays as it is lies there at once.

    Args:
        codec: Number of the codec.
        most: Uncompressed bytes of a batch, unless a single record is larger.
        apart: Begin a new batch after each hole between offsets.
        useful: Compress no more in a run once a batch has become hardly smaller.
        size: Bytes of a run; by default its memory is some that was used before.
    """

    def __init__(
        self, codec: int, *, most: int, apart: bool = False, useful: bool = False, size: int = 0
    ) -> None:
        self._wanted = self._codec = codec
        self._most, self._apart, self._useful, self._size = most, apart, useful, size
        self._made = nothing_yet()
        self._room = _NONE
        """Records of the batch that is being made, where it is to be compressed."""
        self._out = _NONE
        self._at = self._large = self._last = 0

    def take(self, rows: Rows) -> Iterator[PackedRun]:
        """Pack records that follow those before; yield each run that became full.

        Raises:
            ValueError: A header has no name, offsets do not ascend, or there is no such codec.
        """
        columns = (
            read_only(rows.offsets), read_only(rows.times), read_only(rows.types),
            read_only(rows.epochs), rows.keys, rows.values, rows.lists, rows.names, rows.contents,
            self._most - HEADER_SIZE, self._apart,
        )  # fmt: skip
        first, count = 0, len(rows.offsets)
        while first < count:
            if not self._made[COUNT]:
                yield from self._begin()
            start = self._start
            first = int(put_rows(first, *columns, self._target, start, self._made))
            if first < 0:
                raise ValueError(_REASONS[first])
            if self._made[NEEDED]:
                self._large = int(self._made[NEEDED]) - start
            elif first < count:
                yield from self._end()

    def all_of(self, pieces: Iterable[Rows]) -> Iterator[PackedRun]:
        """Pack all pieces, and finish.

        Raises:
            ValueError: As for `take`.
        """
        for rows in pieces:
            yield from self.take(rows)
        yield from self.finish()

    def finish(self) -> Iterator[PackedRun]:
        """End the last batch, and yield the last run. Nothing may be packed afterwards."""
        if self._made[COUNT]:
            yield from self._end()
        if self._at:
            yield self._run()
        if len(self._room) and len(self._room) <= _MOST_SPARE:
            _SPARE_ROOM.give(self._room)
        self._give_back()

    @property
    def _target(self) -> Buffer:
        return self._out if self._codec == NONE else self._room

    @property
    def _start(self) -> int:
        """Where the records of the present batch begin."""
        return self._at + HEADER_SIZE if self._codec == NONE else 0

    def _begin(self) -> Iterator[PackedRun]:
        """Begin a batch, with room for its records."""
        size = max(self._most, self._large)
        self._large = 0
        if self._codec == NONE:
            yield from self._reserve(HEADER_SIZE + size)
        if self._codec != NONE and len(self._room) < size:  # a new run tries to compress again
            spare = _SPARE_ROOM.take()
            fits = spare is not None and len(spare) >= size
            self._room = spare if spare is not None and fits else np.empty(size, np.uint8)
        self._made[TO] = self._start

    def _end(self) -> Iterator[PackedRun]:
        """End the present batch."""
        size = end = int(self._made[TO])
        if self._codec != NONE:
            yield from self._reserve(HEADER_SIZE + most_compressed(size))
            end = self._compress(read_only(self._room[:size]))
        self._head(end)
        self._at, self._last = end, int(self._made[LAST])
        self._made[COUNT] = 0

    def _compress(self, raw: Buffer) -> int:
        """Compress the present batch where it is wanted. Returns its end."""
        start = self._at + HEADER_SIZE
        size = compress_into(self._codec, raw, self._out[start:])
        if self._useful and size > _USEFUL * len(raw):
            self._codec, size = NONE, len(raw)
            self._out[start : start + size] = raw
        return start + size

    def _head(self, end: int) -> None:
        """Write the header of the present batch, with its checksum."""
        kind = LOG_APPEND_TIME if self._made[KIND] else 0
        put_header(self._out, self._at, end, self._made, self._codec | kind)

    def _reserve(self, size: int) -> Iterator[PackedRun]:
        """Make room for so many bytes of a batch; yield what lies before it if that is full."""
        if len(self._out) - self._at >= size:
            return
        if self._at:
            yield self._run()
        self._give_back()
        self._out = self._memory(size)

    def _memory(self, size: int) -> Buffer:
        spare = None if self._size or size > _RUN else _SPARE_RUNS.take()
        return np.empty(max(size, self._size or _RUN), np.uint8) if spare is None else spare

    def _run(self) -> PackedRun:
        """Return the batches so far. What follows lies in other memory."""
        size, last, memory = self._at, self._last, self._out
        self._at, self._codec = 0, self._wanted
        is_spare = len(memory) == _RUN and not self._size
        if is_spare and size < _RUN // 2:  # a few bytes hold no large memory
            return PackedRun(bytearray(memory[:size].data), last)
        self._out = _NONE
        return PackedRun(memory[:size].data, last, memory if is_spare else None)

    def _give_back(self) -> None:
        if len(self._out) == _RUN and not self._size:
            _SPARE_RUNS.give(self._out)
        self._out = _NONE
