"""The collection of visible records of fetched batches, with reasons for empty offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from towpath.model.digest import Digest
from towpath.model.errors import CorruptBatchError
from towpath.wire import collecting
from towpath.wire.batch import NO_END, Buffer, Table
from towpath.wire.columns import BLOCK, MANY, ColumnArrays
from towpath.wire.opened import OpenedBatches
from towpath.wire.opening import give_back
from towpath.wire.rows import HEADERS, parse
from towpath.wire.spare import Spares

_SPARE_COLUMNS: Spares[ColumnArrays] = Spares(24)
"""Enough for a row group of 800,000 rows."""


@dataclass(slots=True)
class _Block:
    """Rows as a record batch, and the arrays that it is made of."""

    batch: pa.RecordBatch
    columns: ColumnArrays


class Collector:
    """Collects the visible records of the offsets [start, end) of one partition, in order.

    Args:
        start: The first offset.
        end: The offset behind the last one.
        digested: Whether a digest of the records is wanted, which costs a look at each byte.

    Attributes:
        waiting: Bytes of the opened batches whose records wait for `drain`.
    """

    def __init__(self, start: int, end: int = NO_END, *, digested: bool = True) -> None:
        self.waiting = 0
        self._columns = ColumnArrays()
        self._buffers: list[pa.Buffer] = []
        self._blocks: list[_Block] = []
        self._rows = self._headers = 0
        """Those of the blocks."""
        self._chunks: list[Buffer] = []
        self._gaps: list[Table] = []
        self._drained = Digest()
        self._fold = np.zeros(2 if digested else 0, np.uint64)
        self._state = np.zeros(collecting.STATE, np.int64)
        self._state[collecting.NEXT], self._state[collecting.END] = start, end
        self._set_bounds()
        self.begin()

    @property
    def expected(self) -> int:
        """The offset after the collected and skipped ones."""
        return int(self._state[collecting.NEXT])

    @property
    def end(self) -> int:
        """The end of the range to collect."""
        return int(self._state[collecting.END])

    @property
    def rows(self) -> int:
        """Number of records that wait for `drain`."""
        return self._rows + int(self._state[collecting.ROWS])

    @property
    def headers(self) -> int:
        """Number of headers of the records that wait for `drain`."""
        return self._headers + int(self._state[collecting.HEADERS])

    @property
    def held(self) -> int:
        """Bytes of memory in use."""
        return self.waiting + self._columns.size + sum(each.columns.size for each in self._blocks)

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
        """Lowest and highest timestamp in ms of records that wait for `drain`, or `None`."""
        low, high = self._state[[collecting.MIN_TIME, collecting.MAX_TIME]].tolist()
        return None if low > high else (low, high)

    @property
    def digest(self) -> Digest:
        """Digest of all records so far, with their timestamps."""
        return self._drained.then(self.waiting_digest)

    @property
    def waiting_digest(self) -> Digest:
        """Digest of the records that wait for `drain`; of nothing if none is wanted."""
        if not len(self._fold):
            return Digest()
        unordered, ordered = self._fold.tolist()
        return Digest(self.rows, unordered, ordered)

    @property
    def gaps(self) -> Table:
        """Table of offsets without a record: rows of first offset, end and kind (`sifting`)."""
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
        table, state = parse(source), self._state
        columns = self._with_room(len(table), int(table[:, HEADERS].sum()))
        gaps = np.empty((len(table) + 2 * len(told), 3), np.int64)
        before, state[collecting.GAPS] = int(state[collecting.ROWS]), 0
        bad, reason = collecting.collect(
            source.data, source.batches, told, table, len(self._buffers), columns.fixed,
            columns.views, columns.header_views, columns.valid, gaps, state, self._fold,
        )  # fmt: skip
        if state[collecting.GAPS]:
            self._gaps.append(gaps[: state[collecting.GAPS]].copy())
        if state[collecting.ROWS] > before:
            self._buffers.append(pa.py_buffer(source.data))
            self._chunks.append(source.data)
            self.waiting += len(source.data)
        if reason:
            raise CorruptBatchError(f"batch {bad} of {len(told)}: {collecting.REASONS[reason]}")

    def pass_over(self, end: int, kind: int) -> None:
        """Record the reason why the offsets from `expected` to `end` hold no record."""
        end = min(end, self.end)
        if end > self.expected:
            self._gaps.append(np.array([(self.expected, end, kind)], np.int64))
            self._state[collecting.NEXT] = end

    def drain(self) -> list[pa.RecordBatch]:
        """Return the collected records, with the schema `columns.COLLECTED`.

        They are valid until `clear`, which must be called before anything else is collected; if it
        lets them go, for ever.
        """
        self._end_block()
        return [each.batch for each in self._blocks]

    def clear(self, *, let_go: bool = False) -> None:
        """Discard the collected records and the drained ones.

        Args:
            let_go: Whether they are still in use, so that their memory must not be used again.
        """
        self._drained = self.digest
        self._fold[:] = 0
        if not let_go:
            for chunk in self._chunks:
                give_back(chunk)
            for block in self._blocks:
                _spare(block.columns)
        self._blocks, self._chunks, self.waiting = [], [], 0
        self._rows = self._headers = 0
        self._begin_block()
        self._set_bounds()

    def _with_room(self, rows: int, headers: int) -> ColumnArrays:
        """Return arrays with room for so many rows and headers more."""
        state = self._state
        if state[collecting.ROWS] and state[collecting.ROWS] + rows > BLOCK:
            self._end_block()
        wanted = int(state[collecting.ROWS]) + rows
        if MANY < wanted <= BLOCK and self._columns.lacks(wanted):
            self._exchange(_SPARE_COLUMNS.take())
        self._columns.reserve(wanted, int(state[collecting.HEADERS]) + headers)
        return self._columns

    def _exchange(self, spare: ColumnArrays | None) -> None:
        """Use the arrays of a block that is over, if there are any, in the place of small ones."""
        if spare is not None:
            spare.take_in(self._columns)
            self._columns = spare

    def _end_block(self) -> None:
        """Make the rows of the present block a record batch."""
        state = self._state
        rows, headers = int(state[collecting.ROWS]), int(state[collecting.HEADERS])
        if not rows:
            return
        nulls = state[collecting.NULLS : collecting.NULLS + 3]
        batch = self._columns.batch(rows, headers, nulls, self._buffers)
        self._blocks.append(_Block(batch, self._columns))
        self._rows, self._headers = self._rows + rows, self._headers + headers
        self._columns, state[collecting.ROWS] = ColumnArrays(), 0
        self._begin_block()

    def _begin_block(self) -> None:
        state = self._state
        if state[collecting.ROWS]:
            self._columns.clear()
        self._buffers = []
        state[collecting.ROWS] = state[collecting.HEADERS] = 0
        state[collecting.NULLS :] = 0

    def _set_bounds(self) -> None:
        state = self._state
        state[collecting.FIRST] = state[collecting.MIN_TIME] = NO_END
        state[collecting.LAST], state[collecting.MAX_TIME] = -1, -NO_END - 1


def joined_gaps(parts: list[Table]) -> Table:
    """Return consecutive gaps as one table; adjacent gaps of one kind are merged."""
    gaps = np.concatenate([np.empty((0, 3), np.int64), *parts])
    begins = np.ones(len(gaps), np.bool_)
    begins[1:] = (gaps[1:, 0] != gaps[:-1, 1]) | (gaps[1:, 2] != gaps[:-1, 2])
    firsts = np.flatnonzero(begins)
    made = gaps[firsts].copy()
    made[:, 1] = gaps[np.append(firsts[1:], len(gaps))[: len(firsts)] - 1, 1]
    return made


def _spare(columns: ColumnArrays) -> None:
    """Keep arrays of the usual size for other rows."""
    if columns.usual:
        columns.clear()
        _SPARE_COLUMNS.give(columns)
