"""Compacted topics through PySpark: what the cleaner took is no loss, in a batch and a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.support.clients.records import COMPACT
from tests.support.here import shared_spark
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from towpath.dataframes import register
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]


def last(records: Iterable[Record]) -> dict[bytes | None, bytes | None]:
    return {each.key: each.value for each in sorted(records, key=lambda each: each.offset)}


def test_a_compacted_topic_is_read_and_written_whole(
    source: LocalCluster, target: LocalCluster, new_name: NewName, tmp_path: Path
) -> None:
    spark = shared_spark()
    register(spark)
    topic, sent = new_name("compacted"), 0
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 1, COMPACT)

    def grow(transaction: str | None = None) -> None:
        nonlocal sent
        more = [Record(b"k%d" % (n % 7), b"v%d" % n) for n in range(sent, sent + 100)]
        produce(
            source.bootstrap, topic, more, {"transactional.id": transaction} if transaction else {}
        )
        sent += 100

    def cleaned() -> bool:
        grow()
        return len(consume(source.bootstrap, topic)) < sent / 2

    grow(transaction=topic)  # its markers stay, and are no records
    produce(source.bootstrap, topic, [Record(b"k3", None)])
    wait_until(cleaned, "the cleaner took records", 240)
    where = {"kafka.bootstrap.servers": source.bootstrap, "subscribe": topic}
    frame = spark.read.format("towpath").options(**where).load()
    there = last(consume(source.bootstrap, topic))
    rows = sorted(frame.collect(), key=lambda row: row.offset)
    found = {bytes(row.key): None if row.value is None else bytes(row.value) for row in rows}
    assert found == there

    ended = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "40", "failOnDataLoss": "true"}
    stream = spark.readStream.format("towpath").options(**where, **ended).load()
    query = (
        stream.writeStream.format("towpath")
        .option("kafka.bootstrap.servers", target.bootstrap)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        grow()  # while the cleaner works on both sides
        query.processAllAvailable()
    finally:
        query.stop()
    there = last(consume(source.bootstrap, topic))
    wait_until(
        lambda: last(consume(target.bootstrap, topic)) == there, "the last value of each key", 120
    )
