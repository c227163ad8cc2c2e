"""The whole way: the source loses archived topics, and they come back with their groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_STORED, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.archive.archiving import Archive
from tests.support.clients.groups import standing
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import (
    PATIENCE,
    Record,
    consume,
    create_topic,
    produce,
    topic_config,
)
from tests.support.objects.stores import empty_section
from towpath.runtime.clock import now_ms

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]
OLD = 40 * 24 * 3600 * 1000
ALL = (0, 1)


def transactions(bootstrap: str, topic: str) -> None:
    """Write three transactions of seven records, the second of which is aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"})
    producer.init_transactions(PATIENCE)
    for number in range(3):
        producer.begin_transaction()
        for each in range(7):
            producer.produce(topic, b"t%d-%d" % (number, each), b"k", partition=0)
        producer.flush(PATIENCE)
        (producer.abort_transaction if number == 1 else producer.commit_transaction)(PATIENCE)


def fill(bootstrap: str, name: str) -> list[str]:
    """Write what is hard to bring back; return the topics, with two partitions each."""
    own = {"retention.ms": "-1", "cleanup.policy": "compact", "min.compaction.lag.ms": "9999999"}
    mixed = create_topic(bootstrap, f"{name}.mixed", 2, own)
    since = now_ms() - OLD
    for first in range(0, 90, 30):
        records = [
            Record(
                b"k%d" % n,
                None if n % 7 == 0 else b"v%d" % n * 5,
                (("h", b"%d" % n), ("h", None)) if n % 3 else (),
                since + n,
                partition=n % 2,
            )
            for n in range(first, first + 30)
        ]
        produce(bootstrap, mixed, records, {"compression.type": "zstd"})
        transactions(bootstrap, mixed)
    stamped = create_topic(
        bootstrap, f"{name}.stamped", 2, {"message.timestamp.type": "LogAppendTime"}
    )
    produce(bootstrap, stamped, [Record(b"k", b"%d" % n, (), since) for n in range(20)])
    return [mixed, stamped]


@pytest.mark.parametrize(
    ("form", "store"),
    [
        ("parquet", "file"),
        pytest.param("batches", "file", marks=pytest.mark.soak),
        *(pytest.param("parquet", kind, marks=pytest.mark.soak) for kind in ("s3", "gs", "abfs")),
    ],
)
def test_what_the_source_has_lost_comes_back(
    request: pytest.FixtureRequest,
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    here: Here,
    form: str,
    store: str,
) -> None:
    name = new_name("golden")
    topics = fill(source.bootstrap, name)
    mixed, stamped = topics
    groups = {f"half-{name}": 31, f"some-{name}": 3}
    read = {
        (group, topic): go_on(source, group, topic, most, 0)
        for group, most in groups.items()
        for topic in topics
    }
    ended = go_on(source, f"all-{name}", mixed, first=0)
    archive = Archive(
        tmp_path,
        source,
        name,
        empty_section(request, store, tmp_path),
        format=form,
        segments={"max_messages": 40, "max_age": "1s"},
        target={"bootstrap": target.bootstrap},
    )
    file = str(archive.file)
    archived = here.on_spark("archive", "run", file, "--until-caught-up")
    assert archived.code == 0, archived.said
    before = {topic: consume(source.bootstrap, topic, ALL) for topic in topics}
    admin = AdminClient({"bootstrap.servers": source.bootstrap})
    for each in admin.delete_topics(topics).values():
        each.result(PATIENCE)

    planned = here("restore", "plan", file)
    assert planned.code == 0, planned.said
    told = tmp_path / "drill.html"
    words = "restore", "run", file, "--output", "json", "--report", str(told)
    restored = here.on_spark(*words)
    assert restored.code == 0, restored.said
    proven = restored.json["comparison"]
    assert proven["proven"], proven
    assert len(proven["partitions"]) == len(topics) * len(ALL)
    compared = sum(each["records_restored"] for each in proven["partitions"])
    assert compared == sum(map(len, before.values()))
    assert "proven by digests" in told.read_text()
    for topic in topics:
        assert consume(target.bootstrap, topic, ALL) == before[topic]
    assert topic_config(target.bootstrap, mixed, "cleanup.policy") == "compact"
    assert topic_config(target.bootstrap, stamped, "message.timestamp.type") == "LogAppendTime"
    for (group, topic), known in read.items():
        values = [each.value or b"" for each in before[topic]]
        assert sorted([*known, *go_on(target, group, topic)]) == sorted(values)
    assert len(ended) == len(before[mixed])
    assert go_on(target, f"all-{name}", mixed) == []
    again = here.on_spark("restore", "run", file, "--output", "json")
    assert again.code == 0, again.said
    assert standing(target, f"half-{name}", stamped) is not None


def go_on(
    cluster: SharedCluster, group: str, topic: str, most: int = 1 << 60, first: int = OFFSET_STORED
) -> list[bytes]:
    """Return what a group reads from where it stands, and commit behind it.

    It takes its partitions by itself, which is faster than to join.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, each, first) for each in ALL])
    found: list[bytes] = []
    ended = set[int | None]()
    while len(found) < most and len(ended) < len(ALL):
        message = consumer.poll(PATIENCE)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
            continue
        found.append(message.value() or b"")
        consumer.store_offsets(message)
    places = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
    if places:
        consumer.commit(offsets=places, asynchronous=False)
    consumer.close()
    return found
