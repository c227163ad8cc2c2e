"""`towpath run` of links whose records go through a query of Spark, on real brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    delete_before,
    produce,
    set_config,
    topic_config,
    wait_for,
)
from tests.support.transformed_link import QUERY, T0, TransformedLink, through_query
from towpath.dev.broker import LocalCluster
from towpath.runtime.clock import now_ms

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> TransformedLink:
    made = TransformedLink(source, target, new_name("through"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2)
    return made


def test_records_go_through_a_query_once_and_status_tells_the_counts(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY, "max_offsets": 30})
    link.produced(range(100))
    ended = here.run(str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 0, ended.said
    assert (ended.json["records"], ended.json["complete"]) == (90, True)
    kept = [n for n in range(100) if n % 10 != 3]
    wait_for(lambda: len(link.written()), 90, "the records")
    told = {
        (each.partition, each.key, each.value, each.headers, each.timestamp)
        for each in link.written()
    }
    assert told == {(n % 2, b"k%d" % n, b"v%d!" % n, (("h", b"%d" % n),), T0 + n) for n in kept}
    link.produced(range(100, 110))
    again = here.run(str(file), "--until-caught-up", "--output", "json")
    assert (again.code, again.json["records"]) == (0, 9), again.said
    assert again.json["transformed"] == {"read": 10, "written": 9, "dropped": 1}
    wait_for(lambda: len(link.written()), 99, "the records")
    rows = here("status", str(file), "--output", "json").json["partitions"]
    assert [(row["mode"], row["state"], row["records"], row["tally"]) for row in rows] == [
        ("transformed", "caught up", 55, [["dropped:transform", 0], ["read", 55]]),
        ("transformed", "caught up", 44, [["dropped:transform", 11], ["read", 55]]),
    ]


PROGRAM = """
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

SUFFIX = "-py"


def shout(text: str) -> str:
    if text == "v13":
        raise ValueError("unlucky")
    return text.upper() + SUFFIX


def clean(frame: DataFrame) -> DataFrame:
    made = F.udf(shout, StringType())(F.col("value").cast("string"))
    return frame.select("key", made.alias("value"), "timestamp")
"""


@pytest.mark.spark(long=True)
def test_a_function_of_python_changes_records_and_one_that_fails_stops_its_partition_alone(
    link: TransformedLink, here: Here
) -> None:
    (link.folder / "clean.py").write_text(PROGRAM)
    file = link.write({"python": "clean.py:clean", "max_offsets": 5})
    link.produced(range(20))
    ended = here.run(str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 3, ended.said
    rows = ended.json["partitions"]
    assert [(row["state"], row["source_end"], row["records"]) for row in rows] == [
        ("caught up", 10, 10),
        ("stopped", 5, 5),
    ]
    assert f"{link.topic}-1 [5, 10): Spark failed: ValueError: unlucky" in rows[1]["error"]
    kept = [*range(0, 20, 2), 1, 3, 5, 7, 9]
    wait_for(link.values, Counter(b"V%d-py" % n for n in kept), "the records")
    (link.folder / "clean.py").write_text(PROGRAM.replace("v13", "none"))
    assert here.run(str(file), "--until-caught-up").code == 0
    wait_for(link.values, Counter(b"V%d-py" % n for n in range(20)), "the records")


def test_another_number_of_partitions_keeps_keys_together_and_in_order(
    link: TransformedLink, here: Here
) -> None:
    file = link.write(None, topics={"partitions": 5})
    keyed = [Record(b"k%d" % (n % 7), b"%d" % n, (), T0 + n, partition=0) for n in range(70)]
    keyless = [Record(None, b"n%d" % n, (), T0, partition=n % 2) for n in range(10)]
    produce(link.source.bootstrap, link.topic, [*keyed, *keyless])
    assert here.run(str(file), "--until-caught-up").code == 0
    wait_for(lambda: len(link.written(5)), 80, "the records")
    from confluent_kafka import Producer

    own = create_topic(link.target.bootstrap, f"{link.topic}-own", 5)
    producer = Producer({"bootstrap.servers": link.target.bootstrap, "partitioner": "murmur2"})
    for n in range(7):
        producer.produce(own, key=b"k%d" % n, value=b"")
    assert producer.flush(60) == 0
    wait_for(lambda: len(consume(link.target.bootstrap, own, range(5))), 7, "the keys")
    by_java = {each.key: each.partition for each in consume(link.target.bootstrap, own, range(5))}
    found = link.written(5)
    for n in range(7):
        of_key = [each for each in found if each.key == b"k%d" % n]
        assert {each.partition for each in of_key} == {by_java[b"k%d" % n]}
        assert [int(each.value or b"") for each in of_key] == list(range(n, 70, 7))
    assert [(each.partition, each.value) for each in found if each.key is None] == sorted(
        ((n % 2, b"n%d" % n) for n in range(10)), key=lambda each: (each[0], int(each[1][1:]))
    )


def test_what_is_wrong_is_told_before_anything_is_read(link: TransformedLink, here: Here) -> None:
    link.produced(range(4))
    wrong = {
        "select value\nfrom records where nothing > 1": "(line 2, column 20 of",
        "select value from records where false": "nothing of `records` is read: ",
        "select value,\n from records wher x": "line 2, column",
        "select upper(cast(value as string)) v from records": "column value: is required",
        "select value from records order by key": "move rows between tasks",
        "select max(value) as value from records": "move rows between tasks",
        "select value from records limit 3": "move rows between tasks",
        "select 'x' as value": "nothing of `records` is read",
        "select cast(value as int) as value from records": 'cannot cast "BINARY" to "INT"',
        "select value, cast(partition as string) as partition from records": "must be int",
    }
    for query, said in wrong.items():
        file = link.write({"sql": query})
        ended = here.on_spark("transform", "test", str(file))
        assert ended.code == 2, (query, ended.said)
        assert said in ended.said, (query, ended.said)
        assert f"{file}:" in ended.said
        assert "transform.sql" in ended.said
        assert "RelationV2" not in ended.said, "no plan of Spark"
    ended = here.run(str(link.file), "--until-caught-up")
    assert ended.code == 2
    for command in ("repair", "groups", "failover"):
        words = (command, *(["ls"] if command == "groups" else []), str(link.file))
        ended = here(*words)
        assert (ended.code, "go through Spark" in ended.said) == (2, True), ended.said


def test_a_trial_shows_the_latest_records_and_writes_nothing(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": "select key, upper(cast(value as string)) as value from records"})
    link.produced(range(40))
    ended = here.on_spark("transform", "test", str(file), "--limit", "6", "--output", "json")
    assert ended.code == 0, ended.said
    assert sorted(row["value"] for row in ended.json["before"]) == [f"v{n}" for n in range(34, 40)]
    assert sorted(row["value"] for row in ended.json["after"]) == [f"V{n}" for n in range(34, 40)]
    shown = here.on_spark("transform", "test", str(file), "--limit", "6")
    assert "after: 6 records; nothing was written" in shown.out
    assert f"{link.clean}-1" in shown.out
    link.write(
        {"sql": "select concat(cast(cast(value as string) as int), '') as value from records"}
    )
    failed = here.on_spark("transform", "test", str(file))
    assert failed.code == 1
    assert "Spark failed: [CAST_INVALID_INPUT] The value 'v" in failed.said
    assert "a fault in Towpath" not in failed.said
    assert here("status", str(file), "--output", "json").json["totals"]["records"] == 0


def test_a_trial_tells_the_partition_that_a_run_writes_to(
    link: TransformedLink, here: Here
) -> None:
    query = "select if(partition = 0, null, key) as key, value from records"
    file = link.write({"sql": query}, topics={"partitions": 3})
    link.produced(range(20))

    def tried() -> dict[str, int]:
        told = here.on_spark("transform", "test", str(file), "--output", "json").json
        assert {row["target_topic"] for row in told["after"]} == {link.clean}
        assert told["notes"] == []
        return {row["value"]: row["target_partition"] for row in told["after"]}

    before = tried()
    assert here.run(str(file), "--until-caught-up").code == 0
    wait_for(lambda: len(link.written(3)), 20, "the records")
    written = {(each.value or b"").decode(): each.partition for each in link.written(3)}
    assert before == written
    assert {written[f"v{n}"] for n in range(0, 20, 2)} == {0}, "without key: as at the source"
    # What a mirror topic has counts, not what the file says.
    link.write({"sql": query}, topics={"partitions": 7})
    assert tried() == written


def test_a_query_can_be_tried_before_there_is_a_target(link: TransformedLink, here: Here) -> None:
    file = link.write({"sql": "select key, value from records"}, topics={"partitions": 1})
    content = file.read_text().replace(link.target.bootstrap, "127.0.0.1:9")
    file.write_text(content)
    link.produced(range(3))
    ended = here.on_spark("transform", "test", str(file), "--output", "json")
    assert ended.code == 0, ended.said
    assert [row["target_partition"] for row in ended.json["after"]] == [0, 0, 0]
    [note] = ended.json["notes"]
    assert note.startswith("partitions on the target are as a new mirror topic has them: ")


def test_rows_go_to_topics_of_the_link_alone(link: TransformedLink, here: Here) -> None:
    other = create_topic(
        link.source.bootstrap, f"{link.topic}-other", 1, {"retention.ms": "7200000"}
    )
    query = "select value, if(value = 'v1', {}, topic) as topic from records"
    topics = {"include": [link.topic, other]}
    file = link.write({"sql": query.format(f"'{other}'")}, topics=topics)
    link.produced(range(4))
    assert here.run(str(file), "--until-caught-up").code == 0
    wait_for(link.values, Counter([b"v0", b"v2", b"v3"]), "the records")
    [moved] = consume(link.target.bootstrap, f"{other}.clean")
    assert moved.value == b"v1"
    configs = here("plan", str(file), "--output", "json").json
    assert configs["steps"] == []
    # Of one topic alone, its rows are compared wherever they went.
    verified = here.on_spark("verify", str(file), "--topics", link.topic, "--output", "json")
    assert verified.code == 0, verified.said
    told = [(each["topic"], each["equal"]) for each in verified.json["partitions"]]
    assert told == [(link.topic, 2), (link.topic, 2)]
    link.write({"sql": query.format("'elsewhere'")}, topics=topics)
    link.produced([1])
    tried = here.on_spark("transform", "test", str(file))
    assert tried.code == 1
    assert "a run would stop at these records: a row names topic elsewhere, which" in tried.said
    ended = here.run(str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 3
    [row] = [each for each in ended.json["partitions"] if each["error"]]
    assert "a row names topic elsewhere, which is not among the topics of the link" in row["error"]
    assert f"{link.topic}-1 [2, 3)" in row["error"]


def test_what_the_source_deleted_stops_its_partition_or_is_counted(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY})
    link.produced(range(10))
    assert here.run(str(file), "--until-caught-up").code == 0
    link.produced(range(10, 30))
    delete_before(link.source.bootstrap, link.topic, 9)
    ended = here.run(str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 3
    [row] = [each for each in ended.json["partitions"] if each["error"]]
    assert (row["partition"], row["state"]) == (0, "stopped")
    assert "offsets 5 to 8 were deleted at the source before they were read" in row["error"]
    link.write({"sql": QUERY}, records={"on_gap": "record"})
    ended = here.run(str(file), "--until-caught-up", "--output", "json")
    assert ended.json["transformed"] == {"read": 6, "written": 6, "dropped": 0}
    assert ["lost", 4] in ended.json["partitions"][0]["tally"]
    shown = here("status", str(file)).out
    assert "4 source offsets were deleted before they were read" in shown
    wait_for(link.values, through_query(n for n in range(30) if n not in {10, 12, 14, 16}), "all")


def test_a_link_is_copied_or_transformed_for_ever(link: TransformedLink, here: Here) -> None:
    file = link.write({"sql": QUERY})
    link.produced(range(4))
    assert here.run(str(file), "--until-caught-up").code == 0
    link.write(None)
    ended = here.run(str(file), "--until-caught-up")
    assert ended.code == 4
    assert "went through a query so far" in ended.said
    delete_topic(link.target.bootstrap, f"__towpath_positions.{link.topic}")
    link.write({"sql": QUERY})
    ended = here.run(str(file), "--until-caught-up")
    assert ended.code == 4
    assert "ran without positions of transformed records, or they are gone" in ended.said


def test_a_source_topic_that_was_deleted_is_told(link: TransformedLink, here: Here) -> None:
    file = link.write({"sql": QUERY})
    link.produced(range(4))
    assert here.run(str(file), "--until-caught-up").code == 0
    assert "3 records, " in here("status", str(file)).out
    delete_topic(link.source.bootstrap, link.topic)
    rows = here("status", str(file), "--output", "json").json["partitions"]
    assert [(row["state"], row["codes"]) for row in rows] == [
        ("stopped", ["SOURCE_TOPIC_DELETED"])
    ] * 2
    assert here.run(str(file), "--until-caught-up").code == 3


@pytest.mark.soak
def test_retention_stays_held_back_where_a_query_writes_older_times(
    link: TransformedLink, here: Here
) -> None:
    set_config(link.source.bootstrap, link.topic, "retention.ms", "7200000")
    file = link.write({"sql": "select value, timestamp - interval 1 day as timestamp from records"})
    now = [Record(b"k", b"v%d" % n, (), now_ms(), partition=n % 2) for n in range(10)]
    produce(link.source.bootstrap, link.topic, now)
    ended = here.run(str(file), "--until-caught-up")
    assert ended.code == 0, ended.said
    planned = " ".join(here("plan", str(file)).out.split())
    assert "10 offsets of the mirror topic have times that retention.ms does not reach" in planned
    assert topic_config(link.target.bootstrap, link.clean, "retention.ms") == "-1"
    link.write({"sql": "select value, timestamp from records"}, topics={"may_delete": [".*"]})
    assert here.run(str(file), "--until-caught-up").code == 0
    assert topic_config(link.target.bootstrap, link.clean, "retention.ms") == "7200000"
