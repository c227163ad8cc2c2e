"""Queries of an archive that DuckDB executes in this process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import pyarrow as pa

from towpath.archive.config import ArchiveConfig
from towpath.archive.format.schema import ARCHIVED, KEY, OFFSET, PARTITION, TIMESTAMP, in_years
from towpath.archive.log import Archive
from towpath.archive.read.query.needed_columns import named_columns
from towpath.archive.read.query.scan import TOPIC, ArchiveRows, ArchiveScan, ScannedSegment
from towpath.archive.read.query.views import TopicView, near, segments_of
from towpath.engine.bounds import ColumnBound
from towpath.engine.duck import DuckTable, query
from towpath.engine.hull import Domain
from towpath.model.errors import QueryError

_MISSING = "Table with name"
_CLAUSE = re.compile(r"(?<![.`\"\w])offset(?![`\"\w])(?!\s+\d)", re.IGNORECASE)
"""A column that DuckDB takes for the clause OFFSET."""
_LISTS = re.compile(r"\b(show|tables?|columns)\b|duckdb_|_schema", re.IGNORECASE)
"""What may list views that a query does not name, such as `show tables`."""

OnDone = Callable[[int, int], None]


def rows_of_duckdb(
    archive: Archive,
    views: Sequence[TopicView],
    sql: str,
    most: int,
    config: ArchiveConfig,
    threads: int,
    on_done: OnDone,
) -> pa.Table:
    """Return some rows of a query; see `towpath.engine.duck.query`.

    Args:
        archive: The archive, as of the version that is asked for.
        views: Its topics, with the names that the query may use.
        sql: The query.
        most: How many rows at most.
        config: The file of the archive.
        threads: How many threads compute.
        on_done: Gets the number of parts that are read, and of all parts.

    Raises:
        QueryError: The SQL is wrong, or names a view whose name another one has in other letters.
        CorruptSegmentError: An object is damaged, or is not what the commit log names.
        StoreError: The store does not have an object, or does not give it.
    """
    names = [each.name for each in views]
    meant = [each for each in views if each.name.lower() in sql.lower() or _LISTS.search(sql)]
    _require_differ([each.name for each in meant])
    columns = _columns(sql)
    progress = _Progress(on_done)
    tables = [_table(archive, each, columns, config, progress) for each in meant]
    try:
        return query(sql, tables, most, threads)
    except QueryError as error:
        raise QueryError(error.said, error.advice or _advice(error.said, sql, names)) from None


def _columns(sql: str) -> tuple[str, ...]:
    """Return the columns of the views, in an order in which DuckDB counts rows by a cheap one.

    To count rows it reads the first column. Where the text of a query seems to mean no key, this
    is the offset; if the text deceives, nothing but the order is another one.
    """
    names = (*ARCHIVED.names, TOPIC)
    if KEY in named_columns(sql):
        return names
    return (OFFSET, *(name for name in names if name != OFFSET))


def _table(
    archive: Archive,
    view: TopicView,
    columns: Sequence[str],
    config: ArchiveConfig,
    progress: _Progress,
) -> DuckTable:
    segments = tuple(segments_of(archive, view))
    types = {**{each.name: each for each in ARCHIVED}, TOPIC: pa.field(TOPIC, pa.string())}
    scan = ArchiveScan(segments)

    def read(bounds: Sequence[ColumnBound], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        parts = scan(bounds)
        progress.more(len(parts))
        # Offsets count the rows where nothing else is read of them.
        rows = ArchiveRows(config.store, tuple(dict.fromkeys((*names, OFFSET))))
        for part in parts:
            yield from rows(part)
            progress.one()

    return DuckTable(
        name=view.name,
        schema=pa.schema([types[name] for name in columns if name != TOPIC or view.of_all]),
        domain=_domain(segments),
        read=read,
    )


def _domain(segments: Sequence[ScannedSegment]) -> Domain:
    """Return what values the columns of segments have; empty where there is no segment."""
    ranges: dict[str, tuple[int, int]] = {}
    if segments:
        wanted = [each.wanted for each in segments]
        ranges[OFFSET] = min(each.first for each in wanted), max(each.end for each in wanted) - 1
    times = list(chain.from_iterable(each.times for each in segments if each.times is not None))
    if times:
        ranges[TIMESTAMP] = in_years(min(times)), in_years(max(times))
    partitions = {each.id.partition_id.partition for each in segments}
    topics = {each.topic for each in segments}
    return Domain(ranges, {PARTITION: sorted(partitions), TOPIC: sorted(topics)})


def _require_differ(names: Sequence[str]) -> None:
    """Raise where names that a query may mean differ by case, which DuckDB does not tell apart."""
    times = Counter(name.lower() for name in names)
    same = sorted(name for name in names if times[name.lower()] > 1)
    if same:
        said = f"DuckDB does not tell apart {', '.join(same)}"
        raise QueryError(said, "take one of them with --topic, or ask Spark: --engine spark")


def _advice(said: str, sql: str, names: Sequence[str]) -> str:
    """Return what helps against an error, "" if nothing is known."""
    if _MISSING in said:
        asked = said.partition(_MISSING)[2].partition(" does not exist")[0].strip()
        return near(asked, names)
    if _CLAUSE.search(sql):
        return "where it means the column, write `offset` in backticks"
    return "this is DuckDB's SQL; for that of Spark, --engine spark"


class _Progress:
    """Tells how many parts of tables are read, of those that are known so far."""

    def __init__(self, on_done: OnDone) -> None:
        self._on_done, self._done, self._total = on_done, 0, 0

    def more(self, number: int) -> None:
        self._total += number
        self._on_done(self._done, self._total)

    def one(self) -> None:
        self._done += 1
        self._on_done(self._done, self._total)
