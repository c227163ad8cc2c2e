"""`towpath archive run` on real brokers and stores: nothing is lost, doubled or altered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import (
    PATIENCE,
    Record,
    consume,
    create_topic,
    produce,
    set_config,
    wait_until,
)
from tests.support.pages.scrape import Scrape
from towpath.archive.metrics import run_names as archive_names
from towpath.dev import ports
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
OLD = 40 * 24 * 3600 * 1000


def transactions(bootstrap: str, topic: str, count: int) -> None:
    """Write committed and aborted transactions."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}-{count}"})
    producer.init_transactions(PATIENCE)
    for number in range(count):
        producer.begin_transaction()
        for each in range(5):
            producer.produce(topic, b"t%d-%d" % (number, each), b"k", partition=0)
        producer.flush(PATIENCE)
        if number % 2:
            producer.abort_transaction(PATIENCE)
        else:
            producer.commit_transaction(PATIENCE)


def fill(bootstrap: str, name: str) -> dict[str, int]:
    """Write what is hard to keep. Returns the partitions of each topic."""
    plain = create_topic(bootstrap, f"{name}.plain", 3)
    for partition in range(3):
        codec = {"compression.type": ("none", "lz4", "zstd")[partition]}
        for first in range(0, 400, 100):
            records = [
                Record(
                    b"k%d" % n if n % 3 else None,
                    b"v" * (n % 50),
                    (("h", b"%d" % n),),
                    partition=partition,
                )
                for n in range(first, first + 100)
            ]
            produce(bootstrap, plain, records, codec)
    old = create_topic(bootstrap, f"{name}.old", config={"retention.ms": "-1"})
    since = now_ms() - OLD
    odd = [
        Record(b"k", None, (("h", None), ("h", b""), ("h", b"1"), ("", b"x")), since),
        Record(None, b"", (), since + 1),
        Record(b"", b"v", (("ä", b"x"),), since + 2),
    ]
    produce(bootstrap, old, odd)
    stamped = create_topic(
        bootstrap, f"{name}.stamped", config={"message.timestamp.type": "LogAppendTime"}
    )
    produce(bootstrap, stamped, [Record(b"k", b"v", (), since)])
    transactions(bootstrap, create_topic(bootstrap, f"{name}.tx"), 8)
    create_topic(bootstrap, f"{name}.empty", 2)
    return {plain: 3, old: 1, stamped: 1, f"{name}.tx": 1}


def assert_same(archive: Archive, topics: dict[str, int]) -> None:
    for topic, partitions in topics.items():
        for partition in range(partitions):
            seen = consume(archive.source.bootstrap, topic, (partition,))
            assert archive.records(topic, partition) == seen, (topic, partition)


def committed(bootstrap: str, group: str, places: list[tuple[str, int]]) -> list[int]:
    """Return where a group stands."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        wanted = [TopicPartition(topic, partition) for topic, partition in places]
        return [each.offset for each in consumer.committed(wanted, PATIENCE)]
    finally:
        consumer.close()


@pytest.mark.spark
def test_an_archive_holds_what_consumers_see(
    source: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("archive")
    topics = fill(source.bootstrap, name)
    archive = Archive(tmp_path, source, name, segments={"max_messages": 150, "max_age": "1s"})
    consumer = Consumer({"bootstrap.servers": source.bootstrap, "group.id": f"readers-{name}"})
    consumer.commit(offsets=[TopicPartition(f"{name}.plain", 1, 7)], asynchronous=False)
    consumer.close()
    report = tmp_path / "report.json"
    ran = here.on_spark(
        "archive", "run", str(archive.file), "--until-caught-up", "--report", str(report)
    )
    assert ran.code == 0, ran.said
    assert "caught up after" in ran.out
    assert "event=archive.new" in ran.said
    assert "a new archive is begun" in ran.said
    told = json.loads(report.read_text())
    assert (told["complete"], told["lag"], told["left_out"]) == (True, 0, [])
    assert_same(archive, topics)
    gaps = [each.gaps for each in archive.segments(f"{name}.tx")]
    assert (sum(g.marker for g in gaps), sum(g.aborted for g in gaps)) == (8, 20)
    assert len(archive.segments(f"{name}.plain", 0)) > 1
    shown = here("archive", "status", str(archive.file), "--output", "json")
    assert shown.code == 0, shown.said
    rows = {(row["topic"], row["partition"]): row for row in shown.json["partitions"]}
    assert rows[f"{name}.tx", 0]["gaps"]["aborted"] == 20
    assert {row["state"] for row in rows.values()} == {"caught up"}
    assert len(rows) == 8
    capture = archive.state.captures["topic", archive.partition_id(f"{name}.stamped").topic_id]
    assert capture.value["own"]["message.timestamp.type"] == "LogAppendTime"
    group = archive.state.captures["group", f"readers-{name}"].value
    assert [(each["topic"], each["offset"]) for each in group["offsets"]] == [(f"{name}.plain", 7)]
    listed = here("archive", "ls", str(archive.file), f"{name}.old", "--output", "json")
    (segment,) = listed.json["segments"]
    one = here("archive", "show", str(archive.file), segment["place"]["key"])
    assert one.code == 0, one.said
    assert "the object says the same" in one.out
    verified = here.on_spark(
        "archive", "verify", str(archive.file), "--against", "source", "--output", "json"
    )
    assert verified.code == 0, verified.said
    assert (verified.json["problems"], verified.json["orphans"]) == ([], 0)
    assert (verified.json["unsummed_objects"], verified.json["entries"]) == (
        0,
        archive.log.state.version,
    )
    for row in verified.json["partitions"]:
        assert row["compared"] == row["records"], row
    assert sum(row["records"] for row in verified.json["partitions"]) == 1200 + 3 + 1 + 20
    events = here("archive", "events", str(archive.file), "--output", "json").json["events"]
    assert [each["text"] for each in events] == [
        "the run started, to end when caught up",
        "the run ended",
    ]
    again = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert "0 segments" in again.out


def assert_told(address: str, plain: str, transactional: str) -> None:
    """Scrape a run that goes on, until it has told of a topic and of the gaps of another one."""

    found: list[Scrape] = []

    def is_told() -> bool:
        got = Scrape(address)
        found[:] = [got]
        reached = got.get("towpath_archived_to", topic=plain, partition="0")
        place = {"topic": transactional, "partition": "0"}
        gaps = got.get("towpath_archive_gap_offsets", kind="aborted", **place)
        return (reached, gaps) == (400, 20)

    wait_until(is_told, "metrics are told", 60)
    (got,) = found
    assert {each.name for each in got.families} == {
        each.name.removesuffix("_total") for each in archive_names.ALL
    }
    theirs = {"region": "here", "topic": plain, "partition": "0"}
    assert got.get("egress_messages_written_total", **theirs) == 400
    assert (got.get("egress_segments_written_total", **theirs) or 0) > 1
    assert got.get("towpath_archive_lag_offsets", topic=plain, partition="0") == 0
    assert got.get("towpath_archive_trouble") == 0
    assert (got.get("towpath_archive_version") or 0) > 0


def test_a_run_that_is_killed_goes_on_where_it_stood(
    source: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("archive")
    (port,) = ports.reserve(1)
    archive = Archive(
        tmp_path,
        source,
        name,
        segments={"max_messages": 50, "max_age": "1s"},
        group=f"g-{name}",
        metrics={"listen": f"127.0.0.1:{port}"},
    )
    topics = fill(source.bootstrap, name)
    run = archive.start()
    archive.wait_for(run, f"{name}.plain", 400)
    assert_told(f"127.0.0.1:{port}", f"{name}.plain", f"{name}.tx")
    archive.write(metrics={})
    refused = here("archive", "run", str(archive.file), "--master", "local[2]")
    assert refused.code == 4
    assert f"works on archive {name} now" in refused.err
    produce(source.bootstrap, f"{name}.plain", [Record(b"more", b"%d" % n) for n in range(300)])
    set_config(source.bootstrap, f"{name}.old", "retention.ms", "1000000000000")
    run.kill9()
    later = create_topic(source.bootstrap, f"{name}.later")
    produce(source.bootstrap, later, [Record(b"k", b"v")])
    ended = archive.start("--until-caught-up")
    assert ended.wait() == 0, ended.said
    assert "taken over" in ended.said
    stood = committed(source.bootstrap, f"g-{name}", [(f"{name}.plain", 0), (later, 0)])
    assert stood == [700, 1]
    assert_same(archive, topics | {later: 1})
    capture = archive.state.captures["topic", archive.partition_id(f"{name}.old").topic_id]
    assert capture.value["own"]["retention.ms"] == "1000000000000"
