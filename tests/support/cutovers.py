"""What tests of a cutover share: the file of a link, and who writes meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from tests.support.here import MASTER
from tests.support.kafka import Record, consume
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import LEDGER, Side, TopicPartition
from towpath.settings import ClusterConfig

LEAVE = "leave the clients where they are"
PARTS = ["look", "drain", "sync", "verify", "look again"]
PARTS += ["groups", "look once more", "record", "settle"]
NOW = ("--quiet", "0", *MASTER)
CLOCK, APPEND = "message.timestamp.type", "LogAppendTime"


def link_file(
    folder: Path, source: LocalCluster, target: LocalCluster, link: str, more: str = ""
) -> Path:
    file = folder / f"{link}.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {link}\ntopics: {{include: ['{link}.*']}}\n{more}"
    )
    return file


def retention(cluster: LocalCluster, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(admin.describe_configs([resource])[resource].result(30)["retention.ms"].value)


def admin_of(cluster: LocalCluster, side: Side) -> Admin:
    return Admin(ClusterConfig.model_validate({"bootstrap": cluster.bootstrap}), side)


def left_on(
    target: LocalCluster, link: str
) -> tuple[dict[TopicPartition, int], list[bytes | None]]:
    """Return where logs of the link's topics end, and the keys of its entries in the ledger.

    Other tests use the target at the same time.
    """
    with admin_of(target, Side.TARGET) as admin:
        topics = admin.topics.describe().values()
        places = {
            t.name: [TopicPartition(t.name, p.partition) for p in t.partitions] for t in topics
        }
        own = [tp for name, tps in places.items() if link in name for tp in tps]
        ends = dict(admin.offsets.latest(own)) if own else {}
    number = len(places.get(LEDGER, ()))
    entries = consume(target.bootstrap, LEDGER, range(number)) if number else []
    return ends, [entry.key for entry in entries if link.encode() in (entry.key or b"")]


def some(first: int, count: int = 100, partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(first, first + count)]


@contextmanager
def writing_on(source: LocalCluster, topic: str) -> Iterator[None]:
    """Let two producers write all the time, one with an id and one without."""
    configs = {"bootstrap.servers": source.bootstrap, "linger.ms": 0}
    made = [Producer({**configs, "enable.idempotence": known}) for known in (True, False)]
    over, begun = threading.Event(), threading.Event()

    def write() -> None:
        while not over.is_set():
            for partition, producer in enumerate(made):
                # Its own time says nothing about when it was written.
                producer.produce(topic, b"x", partition=partition, timestamp=1_000_000_000_000)
                producer.flush(30)
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        over.set()
        thread.join()
