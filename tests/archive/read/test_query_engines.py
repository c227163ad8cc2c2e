"""`towpath archive query` by DuckDB: all rows, no more objects read than needed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from towpath.archive.format.schema import ARCHIVED
from towpath.archive.log import Archive
from towpath.archive.read.query.query import QueryWish, query
from towpath.archive.read.query.scan import TOPIC, ArchiveRows, ScannedSegment
from towpath.archive.read.query.views import segments_of, views_of
from towpath.engine import duck
from towpath.model.nouns import SegmentFormat

pytestmark = pytest.mark.slow

NewName = Callable[[str], str]


@pytest.fixture
def stored(tmp_path: Path, new_name: NewName) -> StoredArchive:
    made = StoredArchive(tmp_path, new_name("shop"), "127.0.0.1:1")
    made.put("pay.eu", old_records(60, 5), cuts=[20, 40])
    made.kind = SegmentFormat.BATCHES
    made.put("orders", old_records(30, 100), partition=2)
    return made


def test_duckdb_gives_all_columns_of_each_record_in_both_formats(stored: StoredArchive) -> None:
    config, views = stored.config(), views_of(Archive(stored.log, stored.log.state), (".*",))
    archive = Archive(stored.log, stored.log.state)
    whole = next(each for each in views if each.of_all)
    rows = ArchiveRows(config.store, (*ARCHIVED.names, TOPIC))
    stored_rows = [
        row for each in rows((*segments_of(archive, whole),)) for row in each.to_pylist()
    ]
    wish = QueryWish(sql="select * from records")
    found = query(config, wish, None).rows.to_pylist()
    assert sorted(map(_row, found)) == sorted(map(_row, stored_rows))
    assert len(found) == 90
    sums = "select topic, count(*) as n, sum(`offset`) as s from records group by 1 order by 1"
    assert query(config, QueryWish(sql=sums), None).rows.to_pylist() == [
        {"topic": "orders", "n": 30, "s": sum(range(100, 130))},
        {"topic": "pay.eu", "n": 60, "s": sum(range(5, 65))},
    ]


def _row(row: dict[str, object]) -> str:
    return repr([(name, row[name]) for name in (TOPIC, *ARCHIVED.names) if name != "timestamp"]) + (
        str(row["timestamp"])
    )


def test_duckdb_tells_what_is_wrong_and_reads_the_archive_only(
    stored: StoredArchive, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(duck._LOCKED, "memory_limit", "100MB")
    file, out = str(stored.file()), tmp_path / "out.csv"
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    for sql, words in (
        ("select * from ordersx", "Such as: orders"),
        ("select * from '{}/secret.csv'", "views of the archive only"),
        ("select * from read_text('{}/secret.csv')", "views of the archive only"),
        ("copy orders to '{}/out.csv'", "COPY is no query"),
        ("select 1; drop table orders", "2 statements"),
        ("create table x as select 1", "CREATE is no query"),
        ("set threads = 1", "SET is no query"),
        ("install httpfs", "is no query"),
        ("attach 'x.db'", "ATTACH is no query"),
        ("selec 1", "syntax error"),
        ("select * from stored", "each topic is a view"),
        ("select offset from orders", "write `offset` in backticks"),
        ("select cast(cast(key as string) as int) from orders", "Could not convert"),
        ("select unix_millis(timestamp) from orders", "--engine spark"),
        (
            "select list(repeat('x', 1000000 + i::int)) from range(9999) t(i)",
            "DuckDB has 1 GB here",
        ),
    ):
        ended = here("archive", "query", file, sql.replace("{}", str(tmp_path)))
        assert ended.code == 2, ended.said
        assert words in ended.err, ended.err
        assert "Traceback" not in ended.said
        assert len(ended.err) < 900
    assert not out.exists()
    shown = here("archive", "query", file, "show tables", "-o", "json")
    assert {each["name"] for each in shown.json["rows"]} == {"orders", "pay.eu", "records"}
    lines = here("archive", "query", file, "select key from orders", "-o", "jsonl", "--limit", "2")
    assert [json.loads(each) for each in lines.out.splitlines()] == [
        {"key": "key 100"}, {"key": "key 101"}
    ]  # fmt: skip
    assert "DuckDB answered" in lines.err
    assert "more rows" in lines.err
    damaged = stored.path(next(iter(stored.log.state.table())))
    damaged.write_bytes(damaged.read_bytes()[:-200] + bytes(200))
    ended = here("archive", "query", file, "select key from records")
    assert (ended.code, "explain CORRUPT_SEGMENT" in ended.err) == (3, True), ended.said
    damaged.unlink()
    ended = here("archive", "query", file, "select count(*) from records")
    assert (ended.code, "explain STORE_MISSING" in ended.err) == (4, True), ended.said


def test_an_engine_that_cannot_answer_says_why(
    stored: StoredArchive, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(stored.file())
    both = here("archive", "query", file, "select 1", "--engine", "duckdb", "--master", "local[2]")
    assert (both.code, "leave one of the two out" in both.err) == (2, True)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "duckdb" else find(name)
    )
    missing = here("archive", "query", file, "select 1", "--engine", "duckdb")
    assert missing.code == 2
    assert "pip install 'towpath[duckdb]'" in missing.err


@pytest.mark.parametrize(
    ("where", "objects", "rows"),
    [
        ("partition = 2", {"orders"}, 1),
        ("topic = 'orders'", {"orders"}, 1),
        ("topic in ('orders', 'none') and partition in (1, 2)", {"orders"}, 1),
        ("`offset` < 20", {"pay.eu"}, 1),
        ("`offset` = 30 or `offset` = 31", {"pay.eu"}, 1),
        ("`offset` in (30, 31)", {"pay.eu"}, 1),
        ("`offset` > 500", set(), 0),
        ("timestamp < '2001-01-01'", set(), 0),
        ("partition = 2 and `offset` between 10 and 20", set(), 0),
    ],
)
def test_duckdb_reads_no_objects_that_cannot_have_rows(
    stored: StoredArchive, monkeypatch: pytest.MonkeyPatch, where: str, objects: set[str], rows: int
) -> None:
    read: list[ScannedSegment] = []
    whole = ArchiveRows.__call__

    def noted(self: ArchiveRows, part: tuple[ScannedSegment, ...]) -> object:
        read.extend(part)
        return whole(self, part)

    monkeypatch.setattr(ArchiveRows, "__call__", noted)
    wish = QueryWish(sql=" where ".join(("select count(*) as n from records", where)))
    found = query(stored.config(), wish, None).rows.to_pylist()[0]["n"]
    assert bool(found) is bool(rows)
    assert {each.topic for each in read} == objects
    assert len(read) == rows


def test_a_count_takes_less_than_5_seconds_from_start_to_end(
    tmp_path: Path, new_name: NewName
) -> None:
    made = StoredArchive(tmp_path, new_name("shop"), "127.0.0.1:1")
    made.put("orders", old_records(1001))
    before = os.times()
    words = "archive", "query", str(made.file()), "select count(*) as n from orders", "-o", "json"
    ended = subprocess.run(
        (sys.executable, "-m", "towpath", *words), capture_output=True, check=False
    )
    after = os.times()
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["rows"] == [{"n": 1001}]
    assert ended.stderr == b""
    used = after.children_user + after.children_system
    assert used - before.children_user - before.children_system < 5
