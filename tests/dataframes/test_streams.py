"""`spark.readStream.format("towpath")` on real brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.here import shared_spark
from tests.support.kafka import Record, create_topic, produce
from towpath.dataframes import register
from towpath.dev.broker import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NewName = Callable[[str], str]


class Query:
    """A query that writes all that is there to a folder, and goes on at its checkpoint."""

    def __init__(self, spark: SparkSession, cluster: LocalCluster, folder: Path) -> None:
        self._spark, self._cluster, self._folder = spark, cluster, folder

    def run(self, topic: str, which: str = "subscribe", **options: Any) -> None:
        """Read up to the present end."""
        reader = self._spark.readStream.format("towpath").option(which, topic)
        reader = reader.option("kafka.bootstrap.servers", self._cluster.bootstrap)
        for key, value in {"startingOffsets": "earliest", **options}.items():
            reader = reader.option(key, value)
        query = (
            reader.load()
            .selectExpr("cast(value as string) as value", "topic", "partition", "offset")
            .writeStream.format("json")
            .option("path", str(self._folder / "out"))
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    @property
    def batches(self) -> int:
        """Number of micro-batches so far."""
        return sum(each.name.isdigit() for each in (self._folder / "checkpoint/commits").iterdir())

    def values(self) -> list[str]:
        """Return the values that were written so far."""
        rows = self._spark.read.schema("value string").json(str(self._folder / "out")).collect()
        return sorted(row.value for row in rows)


@pytest.mark.broker
@pytest.mark.spark
def test_a_stream_reads_each_record_once_and_notices_another_topic(
    tmp_path: Path, source: LocalCluster, new_name: NewName
) -> None:
    spark = shared_spark()
    register(spark)
    topic = new_name("streamed")
    create_topic(source.bootstrap, topic, 2)
    query = Query(spark, source, tmp_path)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n, partition=n % 2) for n in range(10)])
    query.run(topic, maxOffsetsPerTrigger="4")
    assert query.values() == sorted(str(n) for n in range(10))
    assert query.batches == 3
    more = [Record(b"k", b"%d" % n) for n in range(10, 15)]
    produce(source.bootstrap, topic, more, {"transactional.id": topic})
    query.run(topic)
    assert query.values() == sorted(str(n) for n in range(15))
    delete_topic(source.bootstrap, topic)
    create_topic(source.bootstrap, topic, 2)
    produce(source.bootstrap, topic, [Record(b"k", b"new-%d" % n) for n in range(20)])
    with pytest.raises(Exception, match="was deleted and created again"):
        query.run(topic)
    query.run(topic, failOnDataLoss="false")
    assert query.values() == sorted(
        [*(str(n) for n in range(15)), *(f"new-{n}" for n in range(20))]
    )
    # A topic that is gone is passed over with a word, whether it is named or a pattern finds it.
    other = create_topic(source.bootstrap, new_name("streamed"), 1)
    both = f"{topic},{other}"
    query.run(both)
    delete_topic(source.bootstrap, topic)
    produce(source.bootstrap, other, [Record(b"k", b"other")])
    with pytest.raises(Exception, match=f"{topic} is gone: it was deleted"):
        query.run(both)
    query.run(both, failOnDataLoss="false")
    assert "other" in query.values()
    create_topic(source.bootstrap, topic, 1)
    produce(source.bootstrap, topic, [Record(b"k", b"again")])
    query.run(both)
    assert query.values().count("again") == 1
    delete_topic(source.bootstrap, topic)
    with pytest.raises(Exception, match=f"{topic} is gone: it was deleted"):
        query.run(f"{topic}.*", "subscribePattern")
