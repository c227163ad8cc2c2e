"""Column bounds derived from an Arrow filter, which let a table skip data.

Arrow shows nothing of what an expression is made of. But it proves for files whether a filter can
hold under what is known of each of them, to leave out the others. So a file that does not exist
is asked about again and again, with other values of a column: where Arrow proves that none of its
rows can be wanted, none is. What it cannot prove only makes bounds wider.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from towpath.engine.bounds import ColumnBound, Relation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMAT, _FILES = ds.IpcFileFormat(), LocalFileSystem()


@dataclass(frozen=True, slots=True)
class Domain:
    """The ranges of values of a table's columns.

    Attributes:
        ranges: The lowest and the highest value of columns of integers and of times, those in ms
            since 1970.
        values: All values of other columns.
    """

    ranges: Mapping[str, tuple[int, int]]
    values: Mapping[str, Sequence[int | str]]


def columns_of(wanted: pc.Expression, schema: pa.Schema) -> list[str]:
    """Return the names of the columns that a filter needs."""
    return [name for name in schema.names if _needs(wanted, schema, name)]


def bounds_of(wanted: pc.Expression, schema: pa.Schema, domain: Domain) -> list[ColumnBound] | None:
    """Return bounds that all rows of a filter meet, `None` if no row can match.

    Args:
        wanted: The filter.
        schema: The columns of the table.
        domain: What values they have.
    """
    asked, found = _Asked(wanted, schema), list[ColumnBound]()
    needed = columns_of(wanted, schema)
    for name in domain.values.keys() & needed:
        left = tuple(each for each in domain.values[name] if asked.may_be(name, each))
        found.append(ColumnBound(name, Relation.AMONG, left))
        if not left:
            return None
    for name in domain.ranges.keys() & needed:
        if schema.field(name).nullable and asked.may_be_null(name):
            continue
        hull = _hull(asked, name, *domain.ranges[name])
        if hull is None:
            return None
        low, high = (asked.bound(name, each) for each in hull)
        found.append(ColumnBound(name, Relation.AT_LEAST, low))
        found.append(ColumnBound(name, Relation.AT_MOST, high))
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """A filter about which Arrow is asked."""

    wanted: pc.Expression
    schema: pa.Schema

    def may_be(self, name: str, value: int | str) -> bool:
        return self._may(pc.field(name) == self._scalar(name, value))

    def may_be_null(self, name: str) -> bool:
        return self._may(pc.field(name).is_null())

    def may_lie(self, name: str, low: int, high: int) -> bool:
        column = pc.field(name)
        return self._may((column >= self._scalar(name, low)) & (column <= self._scalar(name, high)))

    def bound(self, name: str, value: int | str) -> Any:
        """Convert a value to the type that bounds use."""
        if isinstance(value, int) and pa.types.is_timestamp(self.schema.field(name).type):
            return _EPOCH + timedelta(milliseconds=value)
        return value

    def _scalar(self, name: str, value: int | str) -> pa.Scalar:
        return pa.scalar(self.bound(name, value), self.schema.field(name).type)

    def _may(self, known: pc.Expression) -> bool:
        file = _FORMAT.make_fragment("none", filesystem=_FILES, partition_expression=known)
        files = ds.FileSystemDataset([file], self.schema, _FORMAT, _FILES)
        return any(True for _ in files.get_fragments(self.wanted))


def _hull(asked: _Asked, name: str, low: int, high: int) -> tuple[int, int] | None:
    """Return the lowest and the highest value that rows may have; None if there is none."""
    if not asked.may_lie(name, low, high):
        return None
    values = range(low, high)
    first = low + bisect_left(values, True, key=lambda each: asked.may_lie(name, low, each))
    values = range(low + 1, high + 1)
    last = low + bisect_left(values, True, key=lambda each: not asked.may_lie(name, each, high))
    return first, last


def _needs(wanted: pc.Expression, schema: pa.Schema, name: str) -> bool:
    others = pa.schema([each for each in schema if each.name != name])
    try:
        pa.RecordBatch.from_pylist([], schema=others).filter(wanted)
    except pa.ArrowInvalid:
        return True
    return False
