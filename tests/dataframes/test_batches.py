"""`spark.read.format("towpath")` on real brokers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from tests.support.here import shared_spark
from tests.support.kafka import Record, create_topic, delete_before, produce
from towpath.dataframes import register
from towpath.dataframes.options import read_options
from towpath.dataframes.ranges import OffsetRange, spread
from towpath.dataframes.source import TowpathSource
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicId, TopicName, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NewName = Callable[[str], str]
T0 = 1_700_000_000_000


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    session = shared_spark()
    register(session)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def frame(spark: SparkSession, cluster: LocalCluster, **options: Any) -> DataFrame:
    reader = spark.read.format("towpath").option("kafka.bootstrap.servers", cluster.bootstrap)
    for key, value in options.items():
        reader = reader.option(key, json.dumps(value) if isinstance(value, dict) else value)
    return reader.load()


@pytest.mark.broker
@pytest.mark.spark
def test_records_come_with_all_that_they_have(
    spark: SparkSession, source: LocalCluster, new_name: NewName
) -> None:
    topic = new_name("frames")
    create_topic(source.bootstrap, topic, 2)
    records = [
        Record(b"k", b"v", (("a", b"1"), ("a", None)), T0),
        Record(None, b"", (), T0 + 1),
        Record(b"", None, (), T0 + 2, partition=1),
    ]
    produce(source.bootstrap, topic, records)
    committed = {"transactional.id": topic}
    produce(source.bootstrap, topic, [Record(b"t", b"x", (), T0 + 5)] * 3, committed)
    rows = frame(spark, source, subscribe=topic, includeHeaders="true").collect()
    found = {(row.partition, row.offset): row for row in rows}
    assert sorted(found) == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    first, second, third = found[0, 0], found[0, 1], found[1, 0]
    assert (bytes(first.key), bytes(first.value), first.topic) == (b"k", b"v", topic)
    assert [(each.key, each.value) for each in first.headers] == [("a", b"1"), ("a", None)]
    assert (second.key, bytes(second.value), second.headers) == (None, b"", [])
    assert (bytes(third.key), third.value, third.timestampType) == (b"", None, 0)
    assert first.timestamp.timestamp() * 1000 == T0


@pytest.mark.broker
@pytest.mark.spark
def test_a_batch_reads_what_its_options_and_filters_leave(
    spark: SparkSession, source: LocalCluster, new_name: NewName
) -> None:
    topic = new_name("ranges")
    create_topic(source.bootstrap, topic, 2)
    records = [Record(b"k", b"%d" % n, (), T0 + n, partition=p) for p in (0, 1) for n in range(100)]
    produce(source.bootstrap, topic, records)

    def count(**options: Any) -> int:
        return frame(spark, source, **options).count()

    assert count(subscribe=topic) == 200
    assert count(subscribePattern=f"{topic}.*") == 200
    assert count(assign={topic: [1]}) == 100
    assert count(subscribe=topic, startingOffsets={topic: {"0": 90, "1": -1}}) == 10
    assert count(subscribe=topic, endingOffsets={topic: {"0": 5, "1": -1}}) == 105
    assert count(subscribe=topic, startingTimestamp=T0 + 60) == 80
    assert count(subscribe=topic, endingOffsetsByTimestamp={topic: {"0": T0 + 1, "1": T0}}) == 1
    assert frame(spark, source, subscribe=topic, minPartitions=7).rdd.getNumPartitions() >= 7
    _filters(spark, source, topic)
    assert count(subscribe=topic, startingTimestamp=T0 + 10**9) == 0
    assert count(subscribe=create_topic(source.bootstrap, f"{topic}.empty")) == 0
    for wrong, said in {
        "startingOffsets": f"startingOffsets: {topic}-0: 101 is beyond its end, 100",
        "endingOffsets": f"endingOffsets: {topic}-0: 101 is beyond its end, 100",
        "startingOffsetsByTimestamp": f"{topic}-7: is not among the partitions that are read",
    }.items():
        with pytest.raises(Exception, match=re.escape(said)):
            count(subscribe=topic, **{wrong: {topic: {"0": 101, "7": 5}}})
    behind = f"{topic}-0: begins at offset 90, behind offset 5, where ending"
    for late, early in (
        ({"startingOffsets": {topic: {"0": 90}}}, {"endingOffsets": {topic: {"0": 5}}}),
        ({"startingTimestamp": T0 + 90}, {"endingTimestamp": T0 + 5}),
        (
            {"startingOffsetsByTimestamp": {topic: {"0": T0 + 90}}},
            {"endingOffsets": {topic: {"0": 5}}},
        ),
    ):
        with pytest.raises(Exception, match=f"{next(iter(late))}: {behind}"):
            count(subscribe=topic, **late, **early)
    with pytest.raises(Exception, match=f"assign: {topic}-7: is not among"):
        count(assign={topic: [0, 7]})
    delete_before(source.bootstrap, topic, 50)
    assert count(subscribe=topic) == 150  # partition 0 begins later now


def _filters(spark: SparkSession, source: LocalCluster, topic: str) -> None:
    some = "offset >= 10 and offset < 30 and partition = 1"
    every = frame(spark, source, subscribe=topic)
    assert every.where(some).count() == 20
    assert every.count() == 200, "a frame that was filtered once is whole without a filter"
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = frame(spark, source, subscribe=topic, pushFilters="true")
        assert sorted(row.offset for row in pushed.where(some).collect()) == [*range(10, 30)]
        late = pushed.where(f"timestamp >= timestamp_millis({T0 + 95})")
        assert late.count() == 10
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.broker
@pytest.mark.spark
def test_lost_records_end_a_query_or_are_skipped(
    spark: SparkSession, source: LocalCluster, new_name: NewName
) -> None:
    topic = new_name("lost")
    create_topic(source.bootstrap, topic)
    produce(source.bootstrap, topic, [Record(b"k", b"v")] * 10)
    delete_before(source.bootstrap, topic, 4)
    asked = {"subscribe": topic, "startingOffsets": {topic: {"0": 0}}}
    with pytest.raises(Exception, match="offsets 0 to 3 were deleted before they were read"):
        frame(spark, source, **asked).count()
    assert frame(spark, source, **asked, failOnDataLoss="false").count() == 6


@pytest.mark.spark
def test_options_are_told_all_at_once(spark: SparkSession) -> None:
    reader = spark.read.format("towpath").option("kafka.sasl.mechansim", "PLAIN")
    with pytest.raises(Exception, match="did you mean startingOffsets") as found:
        reader.option("startingOfset", "earliest").option("failOnDataLoss", "maybe").load()
    told = str(found.value)
    assert "give exactly one of subscribe, subscribePattern, assign" in told
    assert "kafka.sasl.mechansim: is not known here" in told
    assert "failOnDataLoss: must be true or false, not 'maybe'" in told


def test_a_stream_has_no_end_in_its_options() -> None:
    told = {"kafka.bootstrap.servers": "a:9092", "subscribe": "t", "EndingTimestamp": "5"}
    with pytest.raises(ConfigError, match="endingTimestamp: is for batches"):
        TowpathSource(told).streamReader(StructType())


def test_there_are_never_fewer_tasks_than_asked_for() -> None:
    told = {"kafka.bootstrap.servers": "a:9092", "subscribe": "t", "minPartitions": "7"}
    for count in range(7, 60):
        whole = OffsetRange(TopicPartition(TopicName("t"), 0), TopicId("id"), 0, count)
        assert len(spread([whole], read_options(told))) >= 7, count
