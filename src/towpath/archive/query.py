"""`towpath archive query`: Spark SQL over the records of an archive, a view for each topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches

import pyarrow as pa

from towpath.config import ArchiveConfig
from towpath.config.naming import fits
from towpath.engine.sql import SqlTable
from towpath.engine.sql import query as run_query
from towpath.engine.starting import Starting
from towpath.model.errors import QueryError, StoreError
from towpath.model.nouns import TopicName
from towpath.segments.format.schema import ARCHIVED, OFFSET
from towpath.segments.log import Archive, ArchiveReading, AsOf, open_archive
from towpath.segments.log.commit_log import require_archive
from towpath.segments.model import PartitionId
from towpath.segments.query.scan import (
    TOPIC,
    ArchiveRows,
    ArchiveScan,
    ScannedSegment,
    columns_as_ddl,
)
from towpath.store import Store

RECORDS = "records"
"""The view of all topics, unless a topic has this name."""
_MISSING = "TABLE_OR_VIEW_NOT_FOUND"
_NO_NUMBER = "INVALID_LIMIT_LIKE_EXPRESSION"
"""What Spark says of `from orders where offset in (1, 2)`: it takes `where` for an alias, and
OFFSET for the clause of this name."""
_NAMED = 5
_COUNTS = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_IMPLIED = re.compile(
    r"\*|\|>|\b(natural|pivot|unpivot|table|identifier)\b|^\W*(from|desc|show)", re.I
)
"""What may mean columns that a query does not name."""
_LISTS = re.compile(r"\s*show\b", re.IGNORECASE)
"""Statements that may name views, such as `show tables`."""
_SELECTS, _FROMS = (re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("select", "from"))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWish:
    """What is asked of an archive.

    Attributes:
        sql: The query.
        topics: Expressions; only topics whose whole name matches one have a view.
        as_of: As of when.
        most: How many rows are returned at most.
    """

    sql: str
    topics: tuple[str, ...] = (".*",)
    as_of: AsOf = AsOf()  # noqa: RUF009  # it is frozen
    most: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The rows of a query.

    Attributes:
        rows: The rows.
        more: Whether the query has more rows than were asked for.
        version: The version of the archive that was read.
        time: When that version was written, in ms.
    """

    rows: pa.Table
    more: bool
    version: int
    time: int


@dataclass(frozen=True, slots=True)
class TopicView:
    """A view: its name, and the partitions that it shows."""

    name: str
    topics: tuple[tuple[TopicName, PartitionId], ...]
    of_all: bool = False


def query(
    config: ArchiveConfig,
    wish: QueryWish,
    spark: Starting,
    on_done: Callable[[int, int], None] = lambda _done, _total: None,
) -> QueryAnswer:
    """Return the rows of a query.

    Args:
        config: The archive.
        wish: The query.
        spark: The session, which may still start.
        on_done: Told how many of Spark's tasks have ended, of those that are known so far.

    Raises:
        ConfigError: The store is no archive.
        QueryError: The SQL is wrong.
        CommitLogError: The commit log cannot be used, or there is no archive as of then.
        StoreError: The store cannot be read.
        ClusterError: A task could not read an object.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(config.store))
        require_archive(store)
        reading = stack.enter_context(_reading(store, config.region))
        archive = open_archive(store, config.region, wish.as_of)
        if reading is not None:
            reading.passed(archive.log.state.version)
        views = views_of(archive, wish.topics)
        columns = named_columns(wish.sql)
        tables = [
            _table(archive, each, columns, config)
            for each in views
            if each.name.lower() in wish.sql.lower() or _LISTS.match(wish.sql)
        ]
        names = [each.name for each in views]
        try:
            rows = run_query(
                spark.result(),
                wish.sql.rstrip("; \n\t"),
                tables,
                wish.most + 1,
                exact_case=_differ_by_case(names),
                on_done=on_done,
            )
        except QueryError as error:
            raise QueryError(error.said, _advice(error, names)) from None
        _require_names(rows)
        return QueryAnswer(
            rows=rows.slice(0, wish.most),
            more=len(rows) > wish.most,
            version=archive.then.version,
            time=archive.then.time,
        )


@contextmanager
def _reading(store: Store, region: str) -> Iterator[ArchiveReading | None]:
    """Keep the objects that are read; where the store may not be written to, their grace does."""
    with ExitStack() as stack:
        reading = None
        with suppress(StoreError):
            reading = stack.enter_context(ArchiveReading(store, region, "query"))
        yield reading


def views_of(archive: Archive, topics: tuple[str, ...]) -> list[TopicView]:
    """Return the views of an archive: one for each topic, and one for all of them.

    Of topics with the same name, the last one has the name, and earlier ones the name and their id.

    Args:
        archive: The archive.
        topics: Expressions; only topics whose whole name matches one are taken.
    """
    partitions: dict[str, list[PartitionId]] = {}
    for each in sorted(archive.partitions()):
        partitions.setdefault(each.source.topic_id, []).append(each)
    views: list[TopicView] = []
    for topic, ids in archive.topics().items():
        if fits(topic, topics):
            for number in ids:
                name = topic if number == ids[-1] else f"{topic}@{number}"
                views.append(TopicView(name, tuple((topic, each) for each in partitions[number])))
    named = [each for each in views if "@" not in each.name]
    if all(each.name.lower() != RECORDS for each in views):
        whole = tuple(pair for each in named for pair in each.topics)
        views.append(TopicView(RECORDS, whole, of_all=True))
    return views


def named_columns(sql: str) -> tuple[str, ...]:
    """Return the columns that a query can need, as Python data sources are told none.

    A column that a query needs stands in its text, unless something in it implies columns; then
    all are returned. Offsets are always there, to count records by.
    """
    text = _COUNTS.sub("", sql)
    implied = _IMPLIED.search(text) or len(_FROMS.findall(text)) > len(_SELECTS.findall(text))
    words = {word.lower() for word in re.findall(r"\w+", text)}
    return tuple(
        name for name in (*ARCHIVED.names, TOPIC) if implied or name == OFFSET or name in words
    )


def _table(
    archive: Archive, view: TopicView, columns: Sequence[str], config: ArchiveConfig
) -> SqlTable:
    names = tuple(name for name in columns if name != TOPIC or view.of_all)
    return SqlTable(
        name=view.name,
        schema=columns_as_ddl(names),
        parts=ArchiveScan(tuple(_segments(archive, view))),
        read=ArchiveRows(config.store, names),
    )


def _segments(archive: Archive, view: TopicView) -> Iterator[ScannedSegment]:
    for topic, partition in view.topics:
        for segment, first, end in archive.pieces(partition):
            found = ScannedSegment.of(segment, first, end)
            if found is not None:
                yield replace(found, topic=topic)


def _require_names(rows: pa.Table) -> None:
    """Raise where two columns have one name, as most forms of output would show one of them."""
    names = rows.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        said = f"several of its columns are named {', '.join(twice)}"
        raise QueryError(said, "name them apart with AS")


def _differ_by_case(names: Iterable[str]) -> bool:
    """Whether names are equal but for upper and lower case."""
    known = list(names)
    return len({name.lower() for name in known}) < len(known)


def _advice(error: QueryError, names: Sequence[str]) -> str:
    """Return what helps against an error, "" if nothing is known."""
    if _NO_NUMBER in error.said:
        return "where it means the column, write orders.offset or `offset` instead of offset"
    if _MISSING not in error.said:
        return ""
    asked = " ".join(re.findall(r"`([^`]+)`", error.said)) or error.said
    near = get_close_matches(asked, names, _NAMED, 0.4) or sorted(names)[:_NAMED]
    told = ", ".join(near) if near else "none"
    return f"each topic is a view; put names with other letters in backticks. Such as: {told}"
