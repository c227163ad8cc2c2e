"""DuckDB queries over tables whose rows Python functions read.

DuckDB reads nothing itself: no file, no network, no variable of Python. It takes rows as a stream
from a table, which it tells the columns and the filter that it needs (DuckDB's guide "SQL on
Apache Arrow"); so a table reads less, and no more than some batches are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from towpath.engine.bounds import ColumnBound
from towpath.engine.hull import Domain, bounds_of, columns_of
from towpath.model.errors import QueryError
from towpath.model.foreign import foreign

MEMORY_GB = 1
"""What DuckDB may have; it has no file to put more into."""
_LOCKED = {
    "enable_external_access": "false",
    "temp_directory": "",  # records lie nowhere but in their store
    "memory_limit": f"{MEMORY_GB}GB",
}
_SETTINGS = (
    "SET python_enable_replacements = false",  # names of Python's variables are no tables
    "SET TimeZone = 'UTC'",
    "SET lock_configuration = true",
)
_QUERIES = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
_TOLD = 300
_HUGE = pa.decimal128(38, 0)
_ADVICE = (
    (
        duckdb.OutOfMemoryException,
        f"DuckDB has {MEMORY_GB} GB here; ask for less, or ask Spark: --engine spark",
    ),
    (duckdb.PermissionException, "a query reads views of the archive only"),
)

Read = Callable[[Sequence[ColumnBound], tuple[str, ...]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class DuckTable:
    """A table of a DuckDB query, with a Python function that reads its rows.

    Attributes:
        name: Its name.
        schema: Its columns.
        domain: What values they have.
        read: Yields rows that include all within some bounds, with these columns in this order.
    """

    name: str
    schema: pa.Schema
    domain: Domain
    read: Read


def query(sql: str, tables: Sequence[DuckTable], most: int, threads: int) -> pa.Table:
    """Return the rows of a DuckDB query; the time zone is UTC.

    Args:
        sql: The query.
        tables: The tables that it may name, whose names differ by more than case.
        most: How many rows are returned at most.
        threads: How many threads DuckDB has.

    Raises:
        QueryError: The SQL is wrong, or is no query, or needs too much memory.
        TowpathError: A table could not be read; the error is that of its function.
    """
    failed: list[BaseException] = []
    connection = duckdb.connect(":memory:", config={**_LOCKED, "threads": str(threads)})
    try:
        with _told(failed):
            for setting in _SETTINGS:
                connection.execute(setting)
            _require_query(connection, sql)
            for table in tables:
                connection.register(table.name, _Rows(table, failed))
            return _with_integers(connection.sql(sql).limit(most).to_arrow_table())
    finally:
        connection.close()


def _require_query(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise where a text is not one query."""
    found = [each.type for each in connection.extract_statements(sql)]
    if len(found) != 1:
        raise QueryError(f"it has {len(found)} statements instead of one")
    if found[0] not in _QUERIES:
        raise QueryError(f"{found[0].name} is no query, and a query only reads")


def _with_integers(rows: pa.Table) -> pa.Table:
    """Return rows whose sums of integers are integers, where they fit.

    DuckDB's type of them (HUGEINT) has no equal in Arrow, and comes as a decimal.
    """
    for place, field in enumerate(rows.schema):
        if field.type == _HUGE:
            with suppress(pa.ArrowInvalid):
                whole = rows.column(place).cast(pa.int64())
                rows = rows.set_column(place, field.name, whole)
    return rows


@contextmanager
def _told(failed: Sequence[BaseException]) -> Iterator[None]:
    """Translate the errors of a query.

    Raises:
        QueryError: DuckDB does not accept the query, or fails at it.
        BaseException: What a table raised, as DuckDB only repeats its text.
    """
    try:
        yield
    except duckdb.Error as error:
        if failed:
            raise failed[0] from None
        advice = next((told for kind, told in _ADVICE if isinstance(error, kind)), "")
        raise QueryError(_sentence(error), advice) from None


def _sentence(error: duckdb.Error) -> str:
    """Return what DuckDB says, without the lines of SQL that it shows below, and its guesses."""
    lines = (line.strip() for line in str(error).splitlines())
    first = next((line for line in lines if line), type(error).__name__)
    return foreign(RuntimeError(first))[:_TOLD]


class _Rows(ds.Dataset):  # type: ignore[misc]
    """A table as DuckDB takes it: of Arrow's datasets, it asks for a schema and for scanners."""

    def __init__(self, table: DuckTable, failed: list[BaseException]) -> None:
        """Arrow's own constructor refuses to be called, and nothing of it is needed."""
        self._table, self._failed = table, failed

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        **_: object,
    ) -> _Scan:
        """Return the rows that pass a filter, which DuckDB does not apply again."""
        names = tuple(self.schema.names if columns is None else columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        rows = self._kept(self._wanted(names, filter), schema)
        return _Scan(pa.RecordBatchReader.from_batches(schema, rows))

    def _wanted(self, names: tuple[str, ...], wanted: Any) -> Iterator[pa.RecordBatch]:
        table = self._table
        if wanted is None:
            yield from table.read((), names)
            return
        bounds = bounds_of(wanted, table.schema, table.domain)
        if bounds is None:
            return
        needed = tuple(dict.fromkeys((*names, *columns_of(wanted, table.schema))))
        for rows in table.read(bounds, needed):
            yield rows.filter(wanted)

    def _kept(self, found: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield rows with a schema, and keep the error that ends them."""
        try:
            for rows in found:
                columns = [rows.column(each.name).cast(each.type) for each in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
        except Exception as error:
            self._failed.append(error)
            raise


@dataclass(frozen=True, slots=True)
class _Scan:
    """The scanner of a table, as DuckDB calls it."""

    rows: pa.RecordBatchReader

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows."""
        return self.rows
