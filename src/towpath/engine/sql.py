"""Spark SQL queries over tables whose rows Python functions read.

Each table is a Python data source, so that Spark needs no connector for the store, and no access to
it: what reads the rows is Python, in Spark's tasks. Filters on columns reach the table, which then
reads less; Spark applies them again to the rows.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import datasource as api
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from towpath.engine.border import border
from towpath.engine.bounds import ColumnBound, Relation
from towpath.engine.failure import OURS, of_spark
from towpath.engine.watching import JobsWatch, OnDone
from towpath.model.errors import QueryError
from towpath.model.foreign import leaving, printed

_SETTINGS = {
    "spark.sql.runSQLOnFiles": "false",  # a query may read its tables, and no file of a machine
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
_LOOKS = re.compile(r"\s*(show|describe|desc|explain)\b", re.IGNORECASE)
"""Statements that only look, but are no queries for Spark's parser."""
_CALLS = ("reflect", "try_reflect", "java_method")
"""Spark's functions that call any method of Java."""
_SCRIPT = "ScriptTransformation"
"""A node of Spark's plans: it hands rows to a program (`SELECT TRANSFORM(...) USING`)."""
_LOGGER = "SQLQueryContextLogger"
_TOLD = 300
_RELATIONS: dict[type[api.Filter], Relation] = {
    api.EqualTo: Relation.EQUAL,
    api.LessThan: Relation.BELOW,
    api.LessThanOrEqual: Relation.AT_MOST,
    api.GreaterThan: Relation.ABOVE,
    api.GreaterThanOrEqual: Relation.AT_LEAST,
    api.In: Relation.AMONG,
}


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table of a Spark SQL query, with Python functions that read its rows.

    Attributes:
        name: Its name; one that is no plain identifier is quoted with backticks in SQL.
        schema: Its columns, as DDL.
        parts: Returns the parts to read, for bounds that the query has. Each is read by one task.
        read: Yields the rows of a part, with these columns in this order.
    """

    name: str
    schema: str
    parts: Callable[[Sequence[ColumnBound]], list[Any]]
    read: Callable[[Any], Iterator[pa.RecordBatch]]


def query(
    spark: SparkSession,
    sql: str,
    tables: Iterable[SqlTable],
    most: int,
    *,
    exact_case: bool,
    on_done: OnDone = lambda _done, _total: None,
) -> pa.Table:
    """Return the rows of a Spark SQL query.

    It runs in a session of its own, whose time zone is UTC.

    Args:
        spark: The session whose Spark runs it.
        sql: The query.
        tables: The tables that it may name.
        most: How many rows are returned at most.
        exact_case: Whether upper and lower case are different in names of tables and columns.
        on_done: Told how many tasks have ended, of those that are known so far.

    Raises:
        QueryError: The SQL is wrong, or is no query.
        ClusterError: A part of a table could not be read.
        SparkLostError: The JVM is gone.
    """
    # It would print each error of a query, with stacks of Java; the error says it all.
    PySparkLogger.getLogger(_LOGGER).disabled = True
    with _told():
        own = spark.newSession()
        for key, value in _SETTINGS.items():
            own.conf.set(key, value)
        own.conf.set("spark.sql.caseSensitive", str(exact_case).lower())
        if not _LOOKS.match(sql):
            _parse(own, sql)
        _drop_calls(own)
        for table in tables:
            name = f"towpath_{uuid.uuid4().hex}"
            own.dataSource.register(_source(name, table))
            own.read.format(name).load().createOrReplaceTempView(f"`{table.name}`")
        with JobsWatch(own, on_done, threading.Event()):
            rows = own.sql(sql)
            if _SCRIPT in _nodes(rows):
                raise QueryError("it hands rows to a program (TRANSFORM ... USING)")
            return rows.limit(most).toArrow()


def _parse(spark: SparkSession, sql: str) -> None:
    """Let Spark's parser check that a text is a query, as any other statement would be executed."""
    jvm: Any = spark._jsparkSession  # noqa: SLF001  # PySpark shows its parser nowhere else
    jvm.sessionState().sqlParser().parseQuery(sql)


def _drop_calls(spark: SparkSession) -> None:
    """Let a session know no functions that call methods of Java: a query only reads its tables."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # PySpark shows no function's registry
    session: Any = spark._jsparkSession  # noqa: SLF001
    functions = session.sessionState().functionRegistry()
    place = jvm.scala.Some("builtin"), jvm.scala.Some("system")
    for name in _CALLS:
        functions.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, *place))


def _nodes(rows: DataFrame) -> set[str]:
    """Return the kinds of nodes in the plan of a query, with those of its subqueries."""
    whole: Any = rows._jdf.queryExecution().analyzed()  # noqa: SLF001  # PySpark shows no plan
    left, found = [whole, *_each(whole.subqueriesAll())], set[str]()
    while left:
        node = left.pop()
        found.add(node.getClass().getSimpleName())
        left += _each(node.children())
    return found


def _each(items: Any) -> Iterator[Any]:
    """Yield what a sequence of Scala has."""
    return (items.apply(place) for place in range(items.size()))


@contextmanager
def _told() -> Iterator[None]:
    """Translate the errors of a query.

    Raises:
        QueryError: Spark does not accept the query, or fails at it.
        ClusterError: Our own code raised an error in a task.
        SparkLostError: The JVM is gone.
    """
    try:
        with border():
            yield
    except RuntimeError as error:
        text = printed(str(error))
        if OURS.search(text):
            raise of_spark(RuntimeError(text)) from None
        raise QueryError(_sentence(text)) from None


def _sentence(text: str) -> str:
    """Return the first line of what Spark says; a tree of its plan, or a stack, follows."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "no reason is known")[:_TOLD].rstrip(";")


def _source(title: str, table: SqlTable) -> type[api.DataSource]:
    """Return a data source class that carries the table; options would show its contents."""

    class Reader(api.DataSourceReader):
        def __init__(self, schema: StructType) -> None:
            self._bounds: list[ColumnBound] = []
            self._schema = schema
            self._read = table.read

        def pushFilters(self, filters: list[api.Filter]) -> Iterable[api.Filter]:  # noqa: N802
            self._bounds = [found for each in filters if (found := _bound(each)) is not None]
            return filters  # Spark applies all of them, too

        def partitions(self) -> Sequence[api.InputPartition]:
            return [api.InputPartition(part) for part in table.parts(self._bounds)]

        def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
            if partition.value is None:  # what Spark makes of a table without parts
                return
            columns = to_arrow_schema(self._schema, timezone="UTC")
            with leaving():
                for rows in self._read(partition.value):
                    arrays = [
                        column.cast(field.type)
                        for column, field in zip(rows.columns, columns, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, schema=columns)

    class Source(api.DataSource):
        @classmethod
        def name(cls) -> str:
            return title

        def schema(self) -> str:
            return table.schema

        def reader(self, schema: StructType) -> api.DataSourceReader:
            return Reader(schema)

    return Source


def _bound(found: api.Filter) -> ColumnBound | None:
    """Return what a filter says of a column of the table; None for what is not made use of."""
    relation = _RELATIONS.get(type(found))
    path: Sequence[str] = getattr(found, "attribute", ())
    value = getattr(found, "value", None)
    if relation is None or len(path) != 1 or value is None:
        return None
    return ColumnBound(path[0], relation, tuple(value) if relation is Relation.AMONG else value)
