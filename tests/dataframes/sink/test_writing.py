"""`df.write` and `df.writeStream` with `format("towpath")`, on real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.here import shared_spark
from tests.support.kafka import Record, consume, create_topic, produce, wait_for
from towpath.dataframes import register
from towpath.dev.broker import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]
T0 = 1_700_000_000_000


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = shared_spark()
    register(session)
    return session


def read(spark: SparkSession, cluster: LocalCluster, topic: str) -> DataFrame:
    reader = spark.read.format("towpath").option("kafka.bootstrap.servers", cluster.bootstrap)
    return reader.option("subscribe", topic).option("includeHeaders", "true").load()


def write(frame: DataFrame, cluster: LocalCluster, **options: str) -> None:
    writer = frame.write.format("towpath").mode("append")
    writer.option("kafka.bootstrap.servers", cluster.bootstrap).options(**options).save()


def test_rows_are_records_with_all_that_they_have(
    spark: SparkSession, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    topic = new_name("written")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 3)
    receipts = create_topic(target.bootstrap, new_name("receipts"))
    records = [
        Record(b"k%d" % n, b"v%d" % n, (("a", b"1"), ("a", None)), T0 + n, partition=n % 3)
        for n in range(50)
    ]
    records += [Record(None, b"", (), T0), Record(b"", None, (), T0, partition=1)]
    produce(source.bootstrap, topic, records)
    write(read(spark, source, topic), target, receipts=receipts)
    _require_same(source, target, topic, 3)

    wait_for(lambda: len(consume(target.bootstrap, receipts)), 3, "receipts")
    told = [json.loads(each.value or b"") for each in consume(target.bootstrap, receipts)]
    ends = {(row["partition"], row["first"], row["last"], row["records"]) for row in told}
    assert ends == {(0, 0, 17, 18), (1, 0, 17, 18), (2, 0, 15, 16)}
    assert {row["topic"] for row in told} == {topic}


def test_keys_choose_partitions_and_texts_are_bytes(
    spark: SparkSession, target: LocalCluster, new_name: NewName
) -> None:
    topic = create_topic(target.bootstrap, new_name("keyed"), 4)
    plain = {"partitioner": "murmur2", "compression.type": "none"}
    produce_by_key(target, topic, [str(n) for n in range(40)], plain)
    theirs = {each.key: each.partition for each in consume(target.bootstrap, topic, range(4))}
    frame = spark.range(40).selectExpr("cast(id as string) key", "concat('v', id) value")
    write(frame, target, topic=topic, **{"kafka.compression.type": "zstd"})
    wait_for(lambda: len(consume(target.bootstrap, topic, range(4))), 80, "the records")
    both = [(each.key, each.partition) for each in consume(target.bootstrap, topic, range(4))]
    assert all(theirs[key] == partition for key, partition in both)


def produce_by_key(
    cluster: LocalCluster, topic: str, keys: list[str], config: dict[str, str]
) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, **config})
    for key in keys:
        producer.produce(topic, key=key.encode(), value=b"v")
    assert producer.flush(60) == 0


def test_a_job_that_fails_leaves_nothing_visible(
    spark: SparkSession, target: LocalCluster, new_name: NewName
) -> None:
    topic = create_topic(target.bootstrap, new_name("failed"))
    frame = spark.range(0, 40, 1, 4).selectExpr(
        "cast(id as string) value", "if(id = 39, 7, 0) as partition"
    )
    with pytest.raises(Exception, match=f"a row names partition 7; topic {topic} has 1"):
        write(frame, target, topic=topic)
    assert consume(target.bootstrap, topic) == []
    write(frame.where("partition = 0"), target, topic=topic, exactlyOnce="false")
    wait_for(lambda: len(consume(target.bootstrap, topic)), 39, "the records")
    compacted = create_topic(
        target.bootstrap, f"{topic}.keys", config={"cleanup.policy": "compact"}
    )
    keys = spark.range(0, 40, 1, 1).selectExpr(
        "if(id < 3, null, cast(id as string)) as key", "cast(id as string) as value"
    )
    with pytest.raises(
        Exception, match=f"{compacted}-0: 3 of the 40 records of a batch have no key"
    ):
        write(keys, target, topic=compacted)
    assert consume(target.bootstrap, compacted) == []


def test_what_is_wrong_is_told_before_anything_is_written(
    spark: SparkSession, target: LocalCluster
) -> None:
    frame = spark.range(1).selectExpr("id as value")
    with pytest.raises(Exception, match="column value: is bigint, must be binary or string"):
        write(frame, target, topic="t")
    texts = spark.range(1).selectExpr("cast(id as string) as value")
    options = {"kafka.bootstrap.servers": target.bootstrap, "topic": "t"}
    with pytest.raises(Exception, match="mode: must be append"):
        texts.write.format("towpath").mode("overwrite").options(**options).save()
    with pytest.raises(Exception, match="topic no-such-topic does not exist; create it first"):
        write(texts, target, topic="no-such-topic")


class Stream:
    """A query that copies a topic, and goes on at its checkpoint."""

    def __init__(
        self, spark: SparkSession, source: LocalCluster, target: LocalCluster, folder: Path
    ) -> None:
        self._spark, self._source, self._target = spark, source, target
        self.checkpoint = folder / "checkpoint"

    def run(self, topic: str, **options: Any) -> None:
        reader = self._spark.readStream.format("towpath").option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", self._source.bootstrap)
        frame = reader.option("startingOffsets", "earliest").option("includeHeaders", "true").load()
        writer = frame.writeStream.format("towpath").options(**options)
        writer = writer.option("kafka.bootstrap.servers", self._target.bootstrap)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    def forget_last_commit(self) -> None:
        """Let Spark play the last batch again, as after a kill before it noted the commit."""
        commits = [each for each in (self.checkpoint / "commits").iterdir() if each.name.isdigit()]
        last = max(commits, key=lambda each: int(each.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_stream_writes_each_record_once_also_where_spark_plays_a_batch_again(
    spark: SparkSession,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    tmp_path: Path,
) -> None:
    topic = new_name("copied")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 2)
    stream = Stream(spark, source, target, tmp_path)
    produce(source.bootstrap, topic, _records(0, 10))
    stream.run(topic)
    _require_same(source, target, topic, 2)
    stream.forget_last_commit()
    produce(source.bootstrap, topic, _records(10, 20))
    stream.run(topic)
    _require_same(source, target, topic, 2)


def _records(first: int, end: int) -> list[Record]:
    return [
        Record(b"k%d" % n, b"v%d" % n, (("h", b"%d" % n),), T0 + n, partition=n % 2)
        for n in range(first, end)
    ]


def _require_same(source: LocalCluster, target: LocalCluster, topic: str, partitions: int) -> None:
    """Wait for the markers behind the records: a commit is answered before they are written."""
    there = _all(source, topic, partitions)
    wait_for(lambda: _all(target, topic, partitions), there, "the copy")


def _all(cluster: LocalCluster, topic: str, partitions: int) -> list[Any]:
    """Return all records but for their offsets, in the order of each partition."""
    found = consume(cluster.bootstrap, topic, range(partitions))
    ordered = sorted(found, key=lambda each: (each.partition, each.offset))
    return [(r.partition, r.key, r.value, r.headers, r.timestamp) for r in ordered]
