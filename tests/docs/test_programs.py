"""The programs and queries that pages show do what the pages say, on real brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from tests.support.here import Here, shared_spark
from tests.support.kafka import Record, consume, create_topic, produce, wait_for
from tests.support.pages.commands import blocks
from towpath.bloblang.functions import METHODS
from towpath.dev.broker import LocalCluster

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = [ROOT / "README.md", *DOCS.rglob("*.md"), *ROOT.glob("src/towpath/runbook/*.md")]
FRAMES = DOCS / "spark" / "dataframes.md"
TRANSFORM = DOCS / "howto" / "transform.md"
RUN = {
    "docs/spark/dataframes.md": 2,
    "docs/howto/transform.md": 1,
    "docs/archive-query.md": 1,
    "docs/howto/leave-glue.md": 1,  # schemas/test_glue.py
    "docs/reference/archive-format.md": 1,  # docs/test_archive_format.py
}
"""Pages with programs that a test runs, and how many each has."""
NewName = Callable[[str], str]
T0 = 1_700_000_000_000


def test_each_program_that_a_page_shows_is_run_by_a_test() -> None:
    found = {page: len(blocks(page.read_text(), "python", "sql")) for page in SHOWN}
    shown = {str(page.relative_to(ROOT)): count for page, count in found.items() if count}
    assert shown == RUN


def test_the_methods_of_expressions_are_those_that_are_known() -> None:
    page = (DOCS / "redpanda-connect.md").read_text()
    told = page[page.index("and the methods") : page.index("expressions may stand in")]
    assert set(re.findall(r"`([a-z_]+)`", told)) == set(METHODS)


def play(program: str, known: dict[str, Any]) -> None:
    exec(program, known)  # noqa: S102, from a page of ours


def test_the_statements_for_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    for name, partition in (("a", 0), ("b", 1), ("replaced", 1)):
        pq.write_table(pa.table({"partition": [partition] * 3}), f"{name}.parquet")
    Path("keys").write_text("a.parquet\nb.parquet\n")
    [text] = blocks((DOCS / "archive-query.md").read_text(), "sql")
    found = duckdb.connect().execute(text.replace("s3://backup/kafka/", f"{tmp_path}/"))
    assert sorted(found.fetchall()) == [(0, 3), (1, 3)]


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark
def test_the_programs_about_data_frames(
    source: LocalCluster, new_name: NewName, tmp_path: Path
) -> None:
    topic, clean = new_name("orders"), new_name("orders-clean")
    for name in (topic, clean):
        create_topic(source.bootstrap, name, 2)
    records = [Record(b"k%d" % n, b"v%d" % n, (), T0 + n, partition=n % 2) for n in range(10)]
    produce(source.bootstrap, topic, records)

    def here(program: str) -> str:
        for theirs, ours in {
            "broker1:9092": source.bootstrap,
            '"orders"': f'"{topic}"',
            '"orders-clean"': f'"{clean}"',
            "/checkpoints": str(tmp_path),
        }.items():
            program = program.replace(theirs, ours)
        return program

    reads, writes = map(here, blocks(FRAMES.read_text(), "python"))
    known: dict[str, Any] = {"spark": shared_spark()}
    play(reads, known)
    assert known["frame"].count() == 10
    streamed = reads.replace("spark.read.", "spark.readStream.")
    earliest = '.option("startingOffsets", "earliest")\n    .load()'
    play(streamed.replace(".load()", earliest), known)
    play(writes, known)
    known["query"].processAllAvailable()
    known["query"].stop()
    wait_for(lambda: len(consume(source.bootstrap, clean, range(2))), 10, "the records")
    written = consume(source.bootstrap, clean, range(2))
    assert {(each.key, each.value, each.timestamp) for each in written} == {
        (each.key, each.value, each.timestamp) for each in records
    }


def selected(column: str) -> dict[str, str]:
    return {"sql": " ".join(["select key, value,", column, "from records"])}


@pytest.fixture
def tried(
    source: LocalCluster, target: LocalCluster, new_name: NewName, tmp_path: Path, here: Here
) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Return what a section `transform` makes of some records, in a link of the page."""
    rest = create_topic(source.bootstrap, new_name("orders-rest"), 1)
    topic = create_topic(source.bootstrap, new_name("orders"), 4)
    records = [
        Record(b"k%d" % n if n % 3 else None, b'{"id": %d, "amount": %d}' % (n, n % 2), (), T0 + n,
               partition=n % 4)
        for n in range(12)
    ]  # fmt: skip
    produce(source.bootstrap, topic, records)

    def through(transform: dict[str, Any]) -> list[dict[str, Any]]:
        link, *_ = (YAML(typ="safe").load(each) for each in blocks(TRANSFORM.read_text(), "yaml"))
        text = json.dumps(transform).replace("orders-rest", rest)
        content = link | {
            "source": {"bootstrap": source.bootstrap},
            "target": {"bootstrap": target.bootstrap},
            "link": topic,
            "topics": link["topics"] | {"include": [topic, rest], "partitions": 24},
            "transform": json.loads(text),
        }
        file = tmp_path / "link.yaml"
        file.write_text(json.dumps(content))
        ended = here.on_spark("transform", "test", str(file), "--limit", "12", "--output", "json")
        assert ended.code == 0, ended.said
        found: list[dict[str, Any]] = ended.json["after"]
        return found

    return through


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark
def test_the_queries_about_transformed_records(
    tried: Callable[[dict[str, Any]], list[dict[str, Any]]], tmp_path: Path
) -> None:
    page = TRANSFORM.read_text()
    first = YAML(typ="safe").load(blocks(page, "yaml")[0])["transform"]
    assert sorted(json.loads(row["value"])["id"] for row in tried(first)) == [1, 3, 5, 7, 9, 11]

    [program] = blocks(page, "python")
    (tmp_path / "clean.py").write_text(program)
    rows = tried({"python": "clean.py:clean"})
    assert len(rows) == 8
    assert all(row["key"] and row["value"].startswith('{"ID"') for row in rows)

    def shown(how: str) -> str:
        [found] = {each for each in re.findall(r"`([^`\n]+)`", page) if each.startswith(how)}
        return str(found)

    assert len(tried({"sql": shown("select key")})) == 8
    assert len(tried({"sql": " ".join(["select key, value from records", shown("where")])})) == 8
    sent = tried(selected(shown("if(key is null, '")))
    assert {"rest" in row["target_topic"] for row in sent if row["key"] is None} == {True}
    assert {"rest" in row["target_topic"] for row in sent if row["key"] is not None} == {False}

    spread = shown("if(key is null, cast").replace("1000", "1")  # there are only 3 in a partition
    rows = tried(selected(spread))
    assert {row["target_partition"] for row in rows if row["key"] is None} == {0, 1, 2}
    by_key = {row["key"]: row["target_partition"] for row in sent if row["key"] is not None}
    assert by_key == {r["key"]: r["target_partition"] for r in rows if r["key"] is not None}
