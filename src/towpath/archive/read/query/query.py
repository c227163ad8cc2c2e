"""`towpath archive query`: SQL over an archive's records, with one view per topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import Archive, ArchiveReading, AsOf, open_archive
from towpath.archive.log.commit_log import require_archive
from towpath.archive.read.query.views import views_of
from towpath.engine.processors import processors
from towpath.engine.sql_engine import SqlEngine
from towpath.engine.starting import Starting
from towpath.model.errors import QueryError, StoreError
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWish:
    """A query of an archive, with its version and limits.

    Attributes:
        sql: The query.
        topics: Expressions; only topics whose whole name matches one have a view.
        as_of: As of when.
        most: How many rows are returned at most.
        threads: How many threads DuckDB has; `None` for as many as there are processors.
    """

    sql: str
    topics: tuple[str, ...] = (".*",)
    as_of: AsOf = AsOf()  # noqa: RUF009  # it is frozen
    most: int = 1000
    threads: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The result of a query.

    Attributes:
        rows: The rows.
        more: Whether the query has more rows than were asked for.
        version: The version of the archive that was read.
        time: When that version was written, in ms.
        engine: What answered.
    """

    rows: pa.Table
    more: bool
    version: int
    time: int
    engine: SqlEngine


def query(
    config: ArchiveConfig,
    wish: QueryWish,
    spark: Starting | None,
    on_done: Callable[[int, int], None] = lambda _done, _total: None,
) -> QueryAnswer:
    """Run a query, and return its rows.

    Args:
        config: The archive.
        wish: The query.
        spark: The session, which may still start; `None` for DuckDB, which is installed.
        on_done: Told how many parts of tables are read, of those that are known so far.

    Raises:
        ConfigError: The store is no archive.
        QueryError: The SQL is wrong.
        CommitLogError: The commit log cannot be used, or there is no archive as of then.
        StoreError: The store cannot be read.
        ClusterError: A task of Spark could not read an object.
        CorruptSegmentError: DuckDB was given an object that is damaged.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(config.store))
        require_archive(store)
        reading = stack.enter_context(_reading(store, config.region))
        archive = open_archive(store, config.region, wish.as_of)
        if reading is not None:
            reading.passed(archive.log.state.version)
        rows = _rows(archive, config, wish, spark, on_done)
        _require_names(rows)
        return QueryAnswer(
            rows=rows.slice(0, wish.most),
            more=len(rows) > wish.most,
            version=archive.then.version,
            time=archive.then.time,
            engine=SqlEngine.DUCKDB if spark is None else SqlEngine.SPARK,
        )


def _rows(
    archive: Archive,
    config: ArchiveConfig,
    wish: QueryWish,
    spark: Starting | None,
    on_done: Callable[[int, int], None],
) -> pa.Table:
    """Return the rows, and one more where there are more.

    What one engine needs is not loaded for the other: PySpark takes a second, and DuckDB may not be
    installed.
    """
    views = views_of(archive, wish.topics)
    sql, most = wish.sql.rstrip("; \n\t"), wish.most + 1
    if spark is None:
        from towpath.archive.read.query.by_duckdb import rows_of_duckdb  # noqa: PLC0415  # as above

        threads = wish.threads or processors()
        return rows_of_duckdb(archive, views, sql, most, config, threads, on_done)
    from towpath.archive.read.query.by_spark import rows_of_spark  # noqa: PLC0415  # as above

    return rows_of_spark(archive, views, sql, most, config, spark, on_done)


@contextmanager
def _reading(store: Store, region: str) -> Iterator[ArchiveReading | None]:
    """Keep the objects that are read; where the store may not be written to, their grace does."""
    with ExitStack() as stack:
        reading = None
        with suppress(StoreError):
            reading = stack.enter_context(ArchiveReading(store, region, "query"))
        yield reading


def _require_names(rows: pa.Table) -> None:
    """Raise where two columns have one name, as most forms of output would show one of them."""
    names = rows.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        said = f"several of its columns are named {', '.join(twice)}"
        raise QueryError(said, "name them apart with AS")
