"""Topics with old records of all kinds, in transactions and without, to be archived."""

from __future__ import annotations

import random

from confluent_kafka import Producer

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import PATIENCE, Record, create_topic, produce
from towpath.runtime.clock import now_ms

OLD = 40 * 24 * 3600 * 1000
PARTITIONS = (0, 1, 2)


def fill(source: SharedCluster, name: str, count: int) -> list[str]:
    """Write old records of all kinds, in transactions and without, to three topics."""
    rng, since = random.Random(count), now_ms() - OLD
    kinds = {
        "compacted": {"cleanup.policy": "compact", "min.compaction.lag.ms": "999999999"},
        "stamped": {"message.timestamp.type": "LogAppendTime"},
        "hour": {"retention.ms": "-1"},
    }
    topics = [
        create_topic(source.bootstrap, f"{name}.{kind}", len(PARTITIONS), own)
        for kind, own in kinds.items()
    ]
    for topic in topics:
        for first in range(0, count, 1000):
            numbers = range(first, min(count, first + 1000))
            compacted = topic == topics[0]  # it takes no null keys
            records = [record(rng, n, since + n, null_keys=not compacted) for n in numbers]
            produce(source.bootstrap, topic, records, {"compression.type": "lz4"})
            transactions(source.bootstrap, topic, rng)
    return topics


def record(rng: random.Random, number: int, timestamp: int, *, null_keys: bool = True) -> Record:
    """Return a record with what is hard to keep: nulls, empty bytes, headers of one name."""
    key = rng.choice((None if null_keys else b"x", b"", b"key %d" % (number % 97)))
    value = rng.choice((None, b"", rng.randbytes(rng.randrange(1500))))
    headers = rng.choice(((), (("n", b"%d" % number), ("n", None), ("n", b"")), (("", b"x"),)))
    return Record(key, value, headers, timestamp, partition=rng.choice(PARTITIONS))


def transactions(bootstrap: str, topic: str, rng: random.Random) -> None:
    """Write transactions, some of which are aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"})
    producer.init_transactions(PATIENCE)
    for _ in range(3):
        producer.begin_transaction()
        for each in range(rng.randrange(1, 20)):
            producer.produce(topic, b"t%d" % each, b"k", partition=rng.choice(PARTITIONS))
        producer.flush(PATIENCE)
        aborts = rng.random() < 0.4
        (producer.abort_transaction if aborts else producer.commit_transaction)(PATIENCE)
