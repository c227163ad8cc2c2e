"""Column arrays of collected records, and the Arrow columns made of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from towpath.wire.batch import Buffer, Table

_BYTES = pa.binary_view()
_HEADER = pa.struct([pa.field("key", _BYTES, nullable=False), pa.field("value", _BYTES)])
_HEADERS = pa.list_(pa.field("element", _HEADER, nullable=False))

COLLECTED = pa.schema(
    [
        pa.field("key", _BYTES),
        pa.field("value", _BYTES),
        pa.field("headers", _HEADERS, nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("timestamp_type", pa.int32(), nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("schema_id", pa.int32()),
    ]
)
"""Collected records. The timestamp is in ms, or -1; its type is 0 for CreateTime, 1 for
LogAppendTime; the schema id is that of the value, framed as Confluent's serializers do."""

Views: TypeAlias = "npt.NDArray[np.uint32]"
_ROW_BYTES, _HEADER_BYTES = 65, 33
"""Bytes of all arrays for a row, and for a header."""
_FIRST = 64
BLOCK = 1 << 15
"""Rows of a block, unless more are opened at once."""
MANY = BLOCK // 4
"""Rows above which arrays have room for a whole block: more of them are likely to come."""


class ColumnArrays:
    """Growing, reusable column arrays for one block of rows.

    Attributes:
        fixed: Offset, timestamp in ms, timestamp type, leader epoch, schema id (-1 for none), end
            of the headers.
        views: Views of keys and of values.
        header_views: Views of names and of values of headers.
        valid: Bits of the keys, the values and the values of headers that are not null.
    """

    def __init__(self) -> None:
        self._rows = self._headers = 0
        self._make_rows(_FIRST)
        self._make_headers(_FIRST)

    @property
    def usual(self) -> bool:
        """Whether the arrays have the usual size of a block."""
        return self._rows == BLOCK

    @property
    def size(self) -> int:
        """Size of all arrays, in bytes."""
        return self._rows * _ROW_BYTES + self._headers * _HEADER_BYTES

    def reserve(self, rows: int, headers: int) -> None:
        """Make room for more rows and headers, keeping the present ones."""
        if self.lacks(rows):
            old = self._of_rows
            self._make_rows(max(rows, BLOCK if rows > MANY else 2 * self._rows))
            _keep(old, self._of_rows)
        if headers > self._headers:
            before = self._of_headers
            self._make_headers(max(headers, 2 * self._headers))
            _keep(before, self._of_headers)

    def lacks(self, rows: int) -> bool:
        """Return whether the arrays lack room for a number of rows."""
        return rows > self._rows

    def take_in(self, other: ColumnArrays) -> None:
        """Copy the content of smaller arrays."""
        self.reserve(other._rows, other._headers)  # its own kind
        _keep(other._of_rows, self._of_rows)
        _keep(other._of_headers, self._of_headers)

    def clear(self) -> None:
        """Empty the arrays without shrinking them."""
        for bits in self.valid:
            bits[:] = 0

    def batch(
        self, rows: int, headers: int, nulls: Table, buffers: list[pa.Buffer]
    ) -> pa.RecordBatch:
        """Return the rows with the schema `COLLECTED`, valid until the next row is added.

        Args:
            rows: Number of rows.
            headers: Number of their headers.
            nulls: Number of null keys, of null values, and of null values of headers.
            buffers: Where the views point to.
        """
        offsets, times, types, epochs, ids, ends = self.fixed
        names = _viewed(self.header_views[0], headers, None, 0, buffers)
        contents = _viewed(self.header_views[1], headers, self.valid[2], nulls[2], buffers)
        pairs = pa.Array.from_buffers(_HEADER, headers, [None], children=[names, contents])
        lists = pa.Array.from_buffers(
            _HEADERS, rows, [None, pa.py_buffer(ends[: rows + 1])], children=[pairs]
        )
        columns = [
            _viewed(self.views[0], rows, self.valid[0], nulls[0], buffers),
            _viewed(self.views[1], rows, self.valid[1], nulls[1], buffers),
            lists,
            pa.array(offsets[:rows]),
            pa.array(times[:rows]),
            pa.array(types[:rows]),
            _optional(epochs[:rows]),
            _optional(ids[:rows]),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=COLLECTED)

    @property
    def _of_rows(self) -> tuple[Any, ...]:
        return *self.fixed, *self.views, *self.valid[:2]

    @property
    def _of_headers(self) -> tuple[Any, ...]:
        return *self.header_views, self.valid[2]

    def _make_rows(self, count: int) -> None:
        self._rows = count
        self.fixed = (
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
            np.zeros(count + 1, np.int32),
        )
        self.views: tuple[Views, Views] = (_views(count), _views(count))
        rest = self.valid[2] if self._headers else _bits(0)
        self.valid: tuple[Buffer, Buffer, Buffer] = (_bits(count), _bits(count), rest)

    def _make_headers(self, count: int) -> None:
        self._headers = count
        self.header_views: tuple[Views, Views] = (_views(count), _views(count))
        self.valid = (*self.valid[:2], _bits(count))


def _views(count: int) -> Views:
    return np.empty((count, 4), np.uint32)


def _bits(count: int) -> Buffer:
    return np.zeros(-(-count // 8), np.uint8)


def _keep(old: tuple[npt.NDArray[Any], ...], new: tuple[npt.NDArray[Any], ...]) -> None:
    for before, after in zip(old, new, strict=True):
        after[: len(before)] = before


def _viewed(
    views: Views, count: int, valid: Buffer | None, nulls: int, buffers: list[pa.Buffer]
) -> pa.Array:
    bits = pa.py_buffer(valid) if nulls else None
    return pa.Array.from_buffers(
        _BYTES, count, [bits, pa.py_buffer(views[:count]), *buffers], int(nulls)
    )


def _optional(numbers: npt.NDArray[np.int32]) -> pa.Array:
    """Return numbers, where negative ones are null."""
    absent = numbers < 0
    return pa.array(numbers, mask=absent) if absent.any() else pa.array(numbers)
