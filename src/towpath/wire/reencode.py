"""Re-encoding of records as dense batches of a size that the target accepts.

In one pass over a buffer, small batches are merged, large ones are split, and a batch can be cut at
any offset. Keys, values and headers are copied unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from towpath.model.errors import CorruptBatchError
from towpath.wire import opened, varint
from towpath.wire.batch import (
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_END,
    Buffer,
    Bytes,
    Table,
    sealed,
)
from towpath.wire.codec import LZ4, NONE, compress
from towpath.wire.copying import copied
from towpath.wire.loops import READ_ONLY, inlined, loop
from towpath.wire.opened import OpenedBatches, open_batches
from towpath.wire.splicing import spliced

FROM, TO, RECORDS, FIRST, LAST, CODEC, RUN = range(7)
"""Columns of the table of written batches. `FIRST` and `LAST` are timestamps."""
_COLUMNS = 7

_AT, _ROWS, _RUNS, _ROOM, _BEFORE = range(5)
"""State of a pass: next byte, number of batches and runs, room of this batch, last offset."""

_GROWTH = 20
"""Most bytes by which a record can grow: through its timestamp, its offset, and its length."""

_NEARLY = 0.9
"""The part of the largest size that a compressed batch should have, as its ratio is guessed."""

_REASONS = (
    "",
    "a control batch holds no records",
    "a record does not fit its batch",
    "record offsets do not ascend, or are beyond the last offset",
    "bytes behind the last record",
)


@dataclass(frozen=True, slots=True)
class Dense:
    """A batch that brokers accept: its offset deltas are 0, 1, 2 and so on.

    Attributes:
        batch: The bytes, with a correct checksum and without a producer id.
        count: Number of records.
        offsets: Runs of source offsets of the records: first offset and length of each.
    """

    batch: bytearray
    count: int
    offsets: Table


def reencode(
    buffer: Buffer,
    positions: Table,
    lengths: Table,
    *,
    first_offset: int = 0,
    end_offset: int = NO_END,
    max_bytes: int,
    apart: bool = False,
) -> list[Dense]:
    """Return the records of an offset range as dense batches.

    A written batch has the codec of the batch that its first record came from. Records of a batch
    with LogAppendTime get the timestamp of that batch, as consumers see them.

    Args:
        buffer: The batches.
        positions: Position of the first byte of each batch, in the order of the log.
        lengths: Size of each batch in bytes, header included.
        first_offset: Records before this offset are left out.
        end_offset: Records from this offset on are left out.
        max_bytes: Upper bound on the size of a written batch, unless a single record is larger.
        apart: Begin a new batch after each hole between records.

    Raises:
        CorruptBatchError: The batches cannot be read, or one is a control batch.
    """
    source = open_batches(buffer, positions, lengths)
    return reencode_opened(
        source, first_offset=first_offset, end_offset=end_offset, max_bytes=max_bytes, apart=apart
    )


def reencode_opened(
    source: OpenedBatches,
    *,
    first_offset: int = 0,
    end_offset: int = NO_END,
    max_bytes: int,
    apart: bool = False,
) -> list[Dense]:
    """Return the records of opened batches as dense batches."""
    single = len(source.batches) == 1
    made = _as_it_is(source, first_offset, end_offset, max_bytes) if single else None
    if made is not None and (len(made.batch) <= max_bytes or made.count == 1):
        return [made]
    room = _room(source, max_bytes)
    return _write(source, first_offset, end_offset, max_bytes, room, apart=apart)


def _as_it_is(source: OpenedBatches, first: int, end: int, most: int) -> Dense | None:
    """Return a batch whose records would be written byte by byte as they are.

    Where most of them came from LZ4 data, nothing is searched to compress them (`splicing.py`).
    """
    start, stop, count, base, last, time, _, attributes, size = source.batches[0].tolist()
    if not 0 < count <= last + 1 or base < first or base + count > end:
        return None
    if attributes & (CONTROL | LOG_APPEND_TIME) or (count > 1 and size > _NEARLY * most):
        return None
    latest = _latest(source.data, start, stop, count)
    if latest < 0 or time + latest > NO_END:  # timestamps so far apart wrap around
        return None
    offsets = np.array([(base, count)], np.int64)
    codec = attributes & CODEC_MASK
    records = source.data[start:stop]
    packed: Bytes | None = None
    if source.origin is not None and codec == LZ4 and start == 0:
        packed = spliced(source.origin, records)
    if packed is None:
        packed = records if codec == NONE else compress(codec, records)
    times = time, time + latest
    return Dense(sealed(packed, attributes=codec, count=count, times=times), count, offsets)


def _room(source: OpenedBatches, max_bytes: int) -> Table:
    """Return how many record bytes a batch may hold, by the compression of each source batch."""
    batches = source.batches
    room = np.full(len(batches), max_bytes - HEADER_SIZE, np.int64)
    packed = np.flatnonzero(batches[:, opened.ATTRIBUTES] & CODEC_MASK)
    if len(packed):
        raw = batches[packed, opened.END] - batches[packed, opened.START]
        # A little less than the ratio says. A batch that becomes too large is written again.
        room[packed] = room[packed] * (_NEARLY * raw / np.maximum(1, batches[packed, opened.SIZE]))
    return room


def _write(
    source: OpenedBatches, first: int, end: int, max_bytes: int, room: Table, *, apart: bool
) -> list[Dense]:
    batches = source.batches
    count = source.count()
    out = np.empty(source.size() + count * (_GROWTH + HEADER_SIZE), np.uint8)
    written = np.empty((count, _COLUMNS), np.int64)
    runs = np.empty((count, 2), np.int64)
    state = np.array([0, 0, 0, 0, -1], np.int64)
    bad, reason = _merge(source.data, batches, first, end, room, out, written, runs, state, apart)
    if reason:
        raise CorruptBatchError(f"batch {bad} of {len(batches)}: {_REASONS[reason]}")
    dense: list[Dense] = []
    rows = written[: state[_ROWS]].tolist()
    stops = [*(row[RUN] for row in rows[1:]), state[_RUNS]]
    for row, stop in zip(rows, stops, strict=False):
        made = _dense(out, row, runs[row[RUN] : stop].copy())
        if len(made.batch) > max_bytes and made.count > 1:
            dense += _write(
                source,
                int(made.offsets[0, 0]),
                int(made.offsets[-1].sum()),
                max_bytes,
                np.minimum(room, row[TO] - row[FROM] - HEADER_SIZE) // 2,
                apart=apart,
            )
        else:
            dense.append(made)
    return dense


def _dense(out: Buffer, row: list[int], offsets: Table) -> Dense:
    """Make a batch of the written bytes: compress them, and add a header with a checksum."""
    start, stop, count, first, last, codec, _ = row
    records = out[start + HEADER_SIZE : stop]
    packed = records if codec == NONE else compress(codec, records)
    made = sealed(packed, attributes=codec, count=count, times=(first, last))
    return Dense(made, count, offsets)


@inlined
def _record(data: Any, position: Any, stop: Any) -> Any:
    """Return the start of a record's body, the start of its rest, its end, and its two deltas.

    The rest follows the deltas: key, value and headers. An end of -1 means that the record does not
    fit.
    """
    zero = np.int64(0)
    length, head = varint.fast_read(data, position, stop)
    if head < 0 or length < opened.SMALLEST_RECORD - 1 or length > stop - head:
        return zero, zero, np.int64(-1), zero, zero
    end = head + length
    delta = zero
    time, rest = varint.fast_read(data, head + 1, end)
    if rest >= 0:
        delta, rest = varint.fast_read(data, rest, end)
    if rest < 0:
        return zero, zero, np.int64(-1), zero, zero
    return head, rest, end, time, delta


@loop(f"int64({READ_ONLY}, int64, int64, int64)")
def _latest(data: Any, start: Any, stop: Any, count: Any) -> Any:
    """Return by how many ms the last timestamp is behind the first one of dense records.

    -1 if they are not dense, are not written in the shortest way, or if something is wrong.
    """
    position, latest = start, np.int64(0)
    for index in range(count):
        begin = position
        head, rest, position, time, delta = _record(data, begin, stop)
        if position < 0 or delta != index or (index == 0 and time != 0):
            return np.int64(-1)
        prefix = varint.fast_size(position - head) + 1
        if rest - begin != prefix + varint.fast_size(time) + varint.fast_size(delta):
            return np.int64(-1)
        latest = max(latest, time)
    return latest if position == stop else np.int64(-1)


@inlined
def _append(
    data: Any, rest: Any, end: Any, mark: Any, time: Any, room: Any, out: Any, row: Any, at: Any
) -> Any:
    """Write one record. Returns the position after it, or -1 if there is no room."""
    time_delta = time - row[FIRST]
    body = 1 + varint.fast_size(time_delta) + varint.fast_size(row[RECORDS]) + end - rest
    if row[RECORDS] and at - row[FROM] + varint.fast_size(body) + body > room + HEADER_SIZE:
        return np.int64(-1)
    at = varint.fast_write(out, at, body)
    out[at] = mark
    at = varint.fast_write(out, at + 1, time_delta)
    at = varint.fast_write(out, at, row[RECORDS])
    at = copied(data, rest, end - rest, out, at)
    row[TO] = at
    row[RECORDS] += 1
    row[LAST] = max(row[LAST], time)
    return at


@inlined
def _start(row: Any, at: Any, time: Any, codec: Any, run: Any) -> Any:
    """Begin a batch. Returns the position of its first record."""
    row[FROM] = at
    row[RECORDS] = 0
    row[FIRST] = time
    row[LAST] = time
    row[CODEC] = codec
    row[RUN] = run
    return at + HEADER_SIZE


@inlined
def _note(runs: Any, state: Any, offset: Any, new: Any) -> None:
    """Add one offset to the runs."""
    if new:
        state[_RUNS] += 1
        runs[state[_RUNS] - 1, 0] = offset
        runs[state[_RUNS] - 1, 1] = 0
    runs[state[_RUNS] - 1, 1] += 1


@inlined
def _merge_batch(
    data: Any,
    batch: Any,
    first: Any,
    end: Any,
    room: Any,
    out: Any,
    written: Any,
    runs: Any,
    state: Any,
    apart: Any,
) -> Any:
    """Write the records of one source batch; return the number of what is wrong, or 0."""
    position, stop = batch[opened.START], batch[opened.END]
    codec = batch[opened.ATTRIBUTES] & CODEC_MASK
    for _ in range(batch[opened.COUNT]):
        head, rest, position, time, delta = _record(data, position, stop)
        if position < 0:
            return 2
        offset = batch[opened.BASE] + delta
        if delta < 0 or delta > batch[opened.LAST_DELTA] or offset <= state[_BEFORE]:
            return 3
        if offset >= end:
            return 0
        hole = offset != state[_BEFORE] + 1
        state[_BEFORE] = offset
        if offset < first:
            continue
        time += batch[opened.FIRST_TIME]
        if batch[opened.ATTRIBUTES] & LOG_APPEND_TIME:
            time = batch[opened.MAX_TIME]
        at = np.int64(-1)
        row = written[state[_ROWS] - 1]
        if state[_ROWS] and row[CODEC] == codec and not (apart and hole):
            at = _append(data, rest, position, data[head], time, state[_ROOM], out, row, state[_AT])
        if at < 0:
            row = written[state[_ROWS]]
            state[_ROWS] += 1
            state[_ROOM] = room
            hole = True
            at = _start(row, state[_AT], time, codec, state[_RUNS])
            at = _append(data, rest, position, data[head], time, room, out, row, at)
        state[_AT] = at
        _note(runs, state, offset, hole)
    return 0 if position == stop else 4


@loop(
    f"UniTuple(int64, 2)({READ_ONLY}, int64[:, ::1], int64, int64, int64[::1],"
    " uint8[::1], int64[:, ::1], int64[:, ::1], int64[::1], boolean)",
)
def _merge(
    data: Any,
    batches: Any,
    first: Any,
    end: Any,
    room: Any,
    out: Any,
    written: Any,
    runs: Any,
    state: Any,
    apart: Any,
) -> Any:
    """Write the records. Returns the bad source batch and the number of the reason, or -1 and 0."""
    for b in range(len(batches)):
        batch = batches[b]
        if batch[opened.ATTRIBUTES] & CONTROL:
            return b, 1
        reason = _merge_batch(data, batch, first, end, room[b], out, written, runs, state, apart)
        if reason:
            return b, reason
    return -1, 0
