"""Consumer groups as clients see them, through librdkafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.support.kafka import PATIENCE, wait_until
from towpath.dev.broker import LocalCluster

T = TypeVar("T")
_MOVED = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


def _again(ask: Callable[[], T]) -> T:
    """Return what a coordinator says; one that has just become one may not answer yet."""
    said: list[T] = []

    def asked() -> bool:
        try:
            said.append(ask())
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() not in _MOVED:
                raise
        return bool(said)

    wait_until(asked, "a coordinator answers")
    return said[0]


def standing(
    cluster: LocalCluster, group: str, topic: str, partition: int = 0
) -> tuple[int, str] | None:
    """Return the offset and the metadata that a group has committed."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    places = [TopicPartition(topic, partition)]
    try:
        (found,) = _again(lambda: consumer.committed(places, PATIENCE))
    finally:
        consumer.close()
    return (found.offset, found.metadata or "") if found.offset >= 0 else None


def commit_with(
    cluster: LocalCluster, group: str, topic: str, offset: int, metadata: str, partition: int = 0
) -> None:
    """Let a group stand at an offset, with a text of its own."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    place = TopicPartition(topic, partition, offset, metadata=metadata)
    try:
        _again(lambda: consumer.commit(offsets=[place], asynchronous=False))
    finally:
        consumer.close()


@contextmanager
def member(
    cluster: LocalCluster, group: str, topic: str, protocol: str = "classic"
) -> Iterator[Consumer]:
    """Let a member be in a group, which commits nothing."""
    joined = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
        }
    )
    try:
        joined.subscribe([topic])

        def is_in() -> bool:
            joined.poll(0.1)
            return bool(joined.assignment())

        wait_until(is_in, f"a member has joined {group}")
        yield joined
    finally:
        joined.close()


def rest(
    cluster: LocalCluster, group: str, topic: str, partitions: int = 1, most: int = 1 << 60
) -> list[bytes | None]:
    """Return the values that a group reads from where it stands, and commit behind them."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
        }
    )
    found: list[bytes | None] = []
    ended: set[int | None] = set()

    def read() -> bool:
        message = consumer.poll(0.1)
        if message is None:
            return False
        error = message.error()
        if error is None:
            found.append(message.value())
            _again(lambda: consumer.commit(message=message, asynchronous=False))
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise AssertionError(f"reading: {error}")
        return len(ended) == partitions or len(found) >= most

    consumer.subscribe([topic])
    try:
        wait_until(read, f"group {group} has read {topic}")
    finally:
        consumer.close()
    return found
