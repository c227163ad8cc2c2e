"""Queries of an archive that Spark SQL executes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import Archive
from towpath.archive.read.query.needed_columns import named_columns
from towpath.archive.read.query.scan import TOPIC, ArchiveRows, ArchiveScan, columns_as_ddl
from towpath.archive.read.query.views import TopicView, differ_by_case, near, segments_of
from towpath.engine.sql import SqlTable, query
from towpath.engine.starting import Starting
from towpath.model.errors import QueryError

_MISSING = "TABLE_OR_VIEW_NOT_FOUND"
_NO_NUMBER = "INVALID_LIMIT_LIKE_EXPRESSION"
"""What Spark says of `from orders where offset in (1, 2)`: it takes `where` for an alias, and
OFFSET for the clause of this name."""
_LISTS = re.compile(r"\s*show\b", re.IGNORECASE)
"""Statements that may name views, such as `show tables`."""


def rows_of_spark(
    archive: Archive,
    views: Sequence[TopicView],
    sql: str,
    most: int,
    config: ArchiveConfig,
    spark: Starting,
    on_done: Callable[[int, int], None],
) -> pa.Table:
    """Return some rows of a query; see `towpath.engine.sql.query`.

    Args:
        archive: The archive, as of the version that is asked for.
        views: Its topics, with the names that the query may use.
        sql: The query.
        most: How many rows at most.
        config: The file of the archive.
        spark: The Spark session, which is still starting.
        on_done: Gets the number of parts that are read, and of all parts.

    Raises:
        QueryError: The SQL is wrong.
        ClusterError: A task could not read an object.
        SparkLostError: The JVM is gone.
    """
    columns = named_columns(sql)
    tables = [
        _table(archive, each, columns, config)
        for each in views
        if each.name.lower() in sql.lower() or _LISTS.match(sql)
    ]
    names = [each.name for each in views]
    try:
        return query(
            spark.result(),
            sql,
            tables,
            most,
            exact_case=differ_by_case(names),
            on_done=on_done,
        )
    except QueryError as error:
        raise QueryError(error.said, _advice(error, names)) from None


def _table(
    archive: Archive, view: TopicView, columns: Sequence[str], config: ArchiveConfig
) -> SqlTable:
    names = tuple(name for name in columns if name != TOPIC or view.of_all)
    return SqlTable(
        name=view.name,
        schema=columns_as_ddl(names),
        parts=ArchiveScan(tuple(segments_of(archive, view))),
        read=ArchiveRows(config.store, names),
    )


def _advice(error: QueryError, names: Sequence[str]) -> str:
    """Return what helps against an error, "" if nothing is known."""
    if _NO_NUMBER in error.said:
        return "where it means the column, write orders.offset or `offset` instead of offset"
    if _MISSING not in error.said:
        return ""
    asked = " ".join(re.findall(r"`([^`]+)`", error.said)) or error.said
    return near(asked, names)
