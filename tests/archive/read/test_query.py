"""`towpath archive query`: each archived record once, of exactly what the commit log names."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import COMPACTOR
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here, shared_spark
from towpath.archive.format.merging import merge, open_input
from towpath.archive.log import Archive, Draft, EntryKind
from towpath.archive.model import Segment, SegmentPlace
from towpath.archive.read.query.needed_columns import named_columns
from towpath.archive.read.query.query import QueryWish, query
from towpath.archive.read.query.views import views_of
from towpath.engine import watching
from towpath.model.nouns import SegmentFormat

pytestmark = pytest.mark.slow

NewName = Callable[[str], str]


@pytest.fixture
def stored(tmp_path: Path, new_name: NewName) -> StoredArchive:
    return StoredArchive(tmp_path, new_name("shop"), "127.0.0.1:1")


def compact(stored: StoredArchive, inputs: list[Segment]) -> Segment:
    """Replace segments by one; their objects stay."""
    out = io.BytesIO()
    store = stored.store
    keys = [each.place.key for each in inputs if each.place is not None]
    opened = [open_input(SegmentFormat.PARQUET, store.reader(key), key) for key in keys]
    footer, _ = merge(opened, lambda: out, level=1, good_bytes=0)
    key = "eu/compacted.parquet"
    store.put_new(key, out.getvalue())
    place = SegmentPlace(key=key, size=len(out.getvalue()), row_groups=len(footer.parts))
    made = footer.segment(SegmentFormat.PARQUET, place)
    removed = tuple(each.id for each in inputs)
    draft = Draft(writer=COMPACTOR, kind=EntryKind.COMPACT, remove=removed, add=(made,))
    stored.log.append(draft)
    return made


REFUSED = (
    ("select * from ordersx", "Such as: orders"),
    ("select * from text.`/etc/hosts`", "Such as: orders"),
    ("describe text.`/etc/hosts`", "Such as: orders"),
    ("select reflect('java.lang.System', 'getenv', 'HOME')", "reflect"),
    (
        "select (select max(x) from (select transform(key) using 'id' as (x) from orders))",
        "hands rows to a program",
    ),
    ("selec 1", "PARSE_SYNTAX_ERROR"),
    ("drop view orders", "PARSE_SYNTAX_ERROR"),
    ("insert overwrite directory '/tmp/x' using csv select 1", "PARSE_SYNTAX_ERROR"),
    ("select cast(cast(key as string) as int) from orders", "CAST_INVALID_INPUT"),
    ("select key, key from orders", "named key"),
    ("select key from orders where offset in (1, 2)", "write orders.offset or `offset`"),
)
"""Statements that are no query or reach beyond the archive, and what is said of each."""


@pytest.mark.spark(long=True)
def test_sql_sees_each_record_once_in_both_formats_and_as_of_each_version(
    stored: StoredArchive, here: Here
) -> None:
    records = old_records(90, 5)
    inputs = stored.put("pay.eu", records[:60], cuts=[20, 40])
    version = stored.log.state.version
    stored.kind = SegmentFormat.BATCHES
    stored.put("orders", old_records(30, 100), partition=2)
    stored.kind = SegmentFormat.PARQUET
    compact(stored, inputs)
    orphan = stored.path(inputs[0])
    orphan.with_name(f"{0:020d}-{4:020d}.parquet").write_bytes(orphan.read_bytes())
    file = str(stored.file())

    def asked(sql: str, *more: str) -> list[list[object]]:
        ended = here.on_spark("archive", "query", file, sql, "-o", "json", *more)
        assert ended.code == 0, ended.said
        return [list(row.values()) for row in ended.json["rows"]]

    assert asked("select count(*) from `pay.eu`;") == [[60]]
    assert asked("select topic, count(*) n from records group by all order by 1") == [
        ["orders", 30],
        ["pay.eu", 60],
    ]
    assert asked("select count(*) from records", "--version", str(version)) == [[60]]
    told = asked(
        "select offset, key, value, headers, partition, timestamp_type, unix_millis(timestamp)"
        " from records where topic = 'orders' and offset in (100, 120) and partition = 2"
        " order by offset"
    )
    first, tombstone = old_records(1, 100)[0], old_records(1, 120)[0]
    headers = [{"key": "n", "value": "100"}, {"key": "n", "value": None}]
    assert told == [
        [100, "key 100", (first.value or b"").decode(), headers, 2, 0, told[0][-1]],
        [120, "key 120", None, [{"key": "n", "value": "120"}, headers[1]], 2, 0, told[1][-1]],
    ]  # fmt: skip
    assert tombstone.value is None
    assert {name for _, name, _ in asked("show tables")} == {"orders", "pay.eu", "records"}
    at = records[30].timestamp
    sql = "select offset from `pay.eu` where timestamp >= timestamp_millis({}) order by 1 limit 2"
    assert asked(sql.format(at)) == [[35], [36]]
    csv = here.on_spark("archive", "query", file, "select value, offset from orders where"
                        " offset >= 109 order by offset", "-o", "csv", "--limit", "2")  # fmt: skip
    assert csv.out.splitlines() == [
        '"value","offset"', ",109", f'"{"value 110 " * 9}",110'
    ]  # fmt: skip
    assert "more rows" in csv.err
    first_key = "select key from orders order by offset limit 1"
    lines = here.on_spark("archive", "query", file, first_key, "-o", "jsonl")
    assert json.loads(lines.out) == {"key": "key 100"}
    for sql, words in REFUSED:
        ended = here.on_spark("archive", "query", file, sql)
        assert ended.code == 2, ended.said
        assert words in ended.err, ended.err
        assert "Traceback" not in ended.said
        assert len(ended.err) < 900
    damaged = stored.path(compacted := compact_of(stored))
    damaged.write_bytes(damaged.read_bytes()[:-200] + bytes(200))
    ended = here.on_spark("archive", "query", file, "select key from `pay.eu`")
    assert (ended.code, "explain CORRUPT_SEGMENT" in ended.err) == (3, True), ended.said
    damaged.unlink()
    lost = here.on_spark("archive", "query", file, "select count(*) from `pay.eu`")
    assert lost.code == 4, lost.said
    assert compacted.place is not None
    assert compacted.place.key in lost.err
    assert "explain STORE_MISSING" in lost.err


@pytest.mark.spark
def test_a_query_tells_how_many_tasks_are_done(
    stored: StoredArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_LOOK", 0.01)
    stored.put("orders", old_records(90), cuts=[30, 60])
    told: list[tuple[int, int]] = []
    spark: Any = Ready(shared_spark())
    wish = QueryWish(sql="select count(*) n, max(offset) m from orders")
    answer = query(stored.config(), wish, spark, lambda *each: told.append(each))
    assert answer.rows.to_pylist() == [{"n": 90, "m": 89}]
    assert told
    assert all(0 <= done <= total for done, total in told)


class Ready:
    """A session that has started."""

    def __init__(self, spark: object) -> None:
        self._spark = spark

    def result(self) -> object:
        return self._spark


def compact_of(stored: StoredArchive) -> Segment:
    return next(each for each in stored.log.state.table() if each.level == 1)


def test_a_topic_that_was_made_again_has_two_views(stored: StoredArchive) -> None:
    stored.put("orders", old_records(4), number="one")
    stored.put("orders", old_records(6), number="two")
    stored.put("Records", old_records(2))
    archive = Archive(log := stored.log, log.state)
    views = {each.name: len(each.topics) for each in views_of(archive, (".*",))}
    assert views == {"orders@one": 1, "orders": 1, "Records": 1}
    assert [each.name for each in views_of(archive, ("ord.*",))][-1] == "records"


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select count(*) from a", ["offset"]),
        ("select KEY, sum(length(`value`)) from a group by key", ["key", "value", "offset"]),
        ("select partition from a where timestamp > now()", ["offset", "timestamp", "partition"]),
    ],
)
def test_only_the_columns_that_a_query_names_are_read(sql: str, columns: list[str]) -> None:
    assert [*named_columns(sql)] == columns


@pytest.mark.parametrize(
    "sql",
    [
        "select * from a",
        "select struct(*) from a",
        "from a |> where true",
        "table a",
        "select key from (table a)",
        "select key from (from a)",
        "select key from a natural join b",
        "select key from a pivot (count(1) for partition in (1))",
        "select identifier('k' || 'ey') from a",
        "describe a",
        "show columns in a",
    ],
)
def test_all_columns_are_read_where_a_query_may_mean_others(sql: str) -> None:
    assert len(named_columns(sql)) == 11
