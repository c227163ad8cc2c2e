"""Collecting the visible records of fetched batches, and why other offsets hold none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from towpath.model.digest import Digest
from towpath.model.errors import CorruptBatchError
from towpath.wire import collecting, opened, sifting
from towpath.wire.batch import CODEC_MASK, LEADER_EPOCH, LENGTH, NO_END, POSITION, Buffer, Table
from towpath.wire.codec import LIMIT, NONE
from towpath.wire.columns import ColumnArrays
from towpath.wire.opened import OpenedBatches, read_headers, read_only
from towpath.wire.rows import HEADERS, parse
from towpath.wire.streams import decompress

_CHUNK = 1 << 20
"""Bytes that are opened together, unless a single batch is larger."""
_NOTHING = np.empty(0, np.uint8)


class Collector:
    """Collects the visible records of the offsets [start, end) of one partition, in order.

    Attributes:
        waiting: Bytes of the opened batches whose records wait for `drain`.
    """

    def __init__(self, start: int, end: int = NO_END) -> None:
        self.waiting = 0
        self._columns = ColumnArrays()
        self._buffers: list[pa.Buffer] = []
        self._gaps: list[Table] = []
        self._drained = Digest()
        self._fold = np.zeros(2, np.uint64)
        self._state = np.zeros(collecting.STATE, np.int64)
        self._state[collecting.NEXT], self._state[collecting.END] = start, end
        self._set_bounds()
        self.begin()

    @property
    def expected(self) -> int:
        """The offset after those that were collected or passed over."""
        return int(self._state[collecting.NEXT])

    @property
    def end(self) -> int:
        """The end of the range."""
        return int(self._state[collecting.END])

    @property
    def rows(self) -> int:
        """Number of records that wait for `drain`."""
        return int(self._state[collecting.ROWS])

    @property
    def headers(self) -> int:
        """Number of their headers."""
        return int(self._state[collecting.HEADERS])

    @property
    def held(self) -> int:
        """Bytes of memory in use."""
        return self.waiting + self._columns.size

    @property
    def raw_bytes(self) -> int:
        """Bytes of keys, values and headers of all records so far, and 16 for each record."""
        return int(self._state[collecting.RAW])

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Offsets of the first and the last record that wait for `drain`; None without records."""
        first, last = self._state[[collecting.FIRST, collecting.LAST]].tolist()
        return None if last < 0 else (first, last)

    @property
    def times(self) -> tuple[int, int] | None:
        """Lowest and highest timestamp in ms of these records; None if none of them has one."""
        low, high = self._state[[collecting.MIN_TIME, collecting.MAX_TIME]].tolist()
        return None if low > high else (low, high)

    @property
    def digest(self) -> Digest:
        """Digest of all records so far, with their timestamps."""
        return self._drained.then(self.waiting_digest)

    @property
    def waiting_digest(self) -> Digest:
        """Digest of the records that wait for `drain`."""
        unordered, ordered = self._fold.tolist()
        return Digest(self.rows, unordered, ordered)

    @property
    def gaps(self) -> Table:
        """Rows of first offset, end and kind (`sifting`): offsets that hold no record, in order."""
        return joined_gaps(self._gaps)

    def begin(self) -> None:
        """Expect batches of another fetch response, which may begin before `expected`."""
        self._state[collecting.BEFORE] = -1

    def add(self, source: OpenedBatches, told: Table) -> None:
        """Collect the records of opened batches.

        Args:
            source: The batches, opened; those that hold no visible records have no bytes.
            told: For each of them its kind (`sifting`) and its leader epoch.

        Raises:
            CorruptBatchError: The bytes are not records in the order of their offsets. Nothing was
                collected of the bad batch, nor of any after it.
        """
        table, state, columns = parse(source), self._state, self._columns
        columns.reserve(self.rows + len(table), self.headers + int(table[:, HEADERS].sum()))
        gaps = np.empty((len(table) + 2 * len(told), 3), np.int64)
        before, state[collecting.GAPS] = self.rows, 0
        bad, reason = collecting.collect(
            source.data, source.batches, told, table, len(self._buffers), columns.fixed,
            columns.views, columns.header_views, columns.valid, gaps, state, self._fold,
        )  # fmt: skip
        if state[collecting.GAPS]:
            self._gaps.append(gaps[: state[collecting.GAPS]].copy())
        if self.rows > before:
            self._buffers.append(pa.py_buffer(source.data))
            self.waiting += len(source.data)
        if reason:
            raise CorruptBatchError(f"batch {bad} of {len(told)}: {collecting.REASONS[reason]}")

    def pass_over(self, end: int, kind: int) -> None:
        """Note that the offsets from `expected` to `end` hold no record, and why (`sifting`)."""
        end = min(end, self.end)
        if end > self.expected:
            self._gaps.append(np.array([(self.expected, end, kind)], np.int64))
            self._state[collecting.NEXT] = end

    def drain(self) -> pa.RecordBatch:
        """Return the collected records, with the schema `columns.COLLECTED`.

        They are valid until `clear`, which must be called before anything else is collected; if it
        lets the arrays go, for ever.
        """
        nulls = self._state[collecting.NULLS : collecting.NULLS + 3]
        return self._columns.batch(self.rows, self.headers, nulls, self._buffers)

    def clear(self, *, let_go: bool = False) -> None:
        """Forget the records that `drain` returned.

        Args:
            let_go: Whether they are still in use, so that their arrays must not be used again.
        """
        state = self._state
        self._drained = self.digest
        self._fold[:] = 0
        state[collecting.ROWS] = state[collecting.HEADERS] = 0
        state[collecting.NULLS :] = 0
        self._set_bounds()
        if let_go:
            self._columns = ColumnArrays()
        else:
            self._columns.clear()
        self._buffers = []
        self.waiting = 0

    def _set_bounds(self) -> None:
        state = self._state
        state[collecting.FIRST] = state[collecting.MIN_TIME] = NO_END
        state[collecting.LAST], state[collecting.MAX_TIME] = -1, -NO_END - 1


def open_some(buffer: Buffer, table: Table, kinds: Table) -> Iterator[tuple[OpenedBatches, Table]]:
    """Yield batches, opened, with what `Collector.add` must be told of them; some at a time.

    Their bytes are copies, so the buffer may be used again.

    Args:
        buffer: Bytes as a broker sent them.
        table: Some batches in it, as `batch.scan` found them.
        kinds: What each of them holds, as `sifting.sift` says.

    Raises:
        CorruptBatchError: A batch has a wrong checksum or size, or cannot be decompressed.
    """
    positions, lengths = (np.ascontiguousarray(table[:, at]) for at in (POSITION, LENGTH))
    data, batches = read_headers(buffer, positions, lengths)
    told = np.stack([kinds, table[:, LEADER_EPOCH]], axis=1)
    batches[kinds != sifting.RECORDS, opened.COUNT] = 0
    parts: list[Buffer] = []
    first = size = 0
    for index, row in enumerate(batches):
        part = _part(data, row) if kinds[index] == sifting.RECORDS else _NOTHING
        if parts and size + len(part) > _CHUNK:
            yield _joined(parts, batches[first:index]), told[first:index]
            parts, first, size = [], index, 0
        row[opened.START], row[opened.END] = size, size + len(part)
        parts.append(part)
        size += len(part)
    if parts:
        yield _joined(parts, batches[first:]), told[first:]


def joined_gaps(parts: list[Table]) -> Table:
    """Return gaps that follow each other as one table, in which neighbours of a kind are one."""
    gaps = np.concatenate([np.empty((0, 3), np.int64), *parts])
    begins = np.ones(len(gaps), np.bool_)
    begins[1:] = (gaps[1:, 0] != gaps[:-1, 1]) | (gaps[1:, 2] != gaps[:-1, 2])
    firsts = np.flatnonzero(begins)
    made = gaps[firsts].copy()
    made[:, 1] = gaps[np.append(firsts[1:], len(gaps))[: len(firsts)] - 1, 1]
    return made


def _part(data: Buffer, row: Table) -> Buffer:
    codec = int(row[opened.ATTRIBUTES]) & CODEC_MASK
    return decompress(codec, data[int(row[opened.START]) : int(row[opened.END])], LIMIT)


def _joined(parts: list[Buffer], batches: Table) -> OpenedBatches:
    fresh = len(parts) == 1 and int(batches[0, opened.ATTRIBUTES]) & CODEC_MASK != NONE
    whole = parts[0] if fresh else np.concatenate(parts)
    return OpenedBatches(read_only(whole), batches)
