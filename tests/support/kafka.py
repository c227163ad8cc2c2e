"""Kafka through clients that share no code with Towpath's data path."""

from __future__ import annotations

import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewPartitions, NewTopic

PATIENCE = 120.0
"""Seconds that anything may take on a machine that does ten things at a time."""

_IN_ORDER = {"max.in.flight": 1}
"""Requests one by one: of several, one that comes before its partition has a leader is sent again
behind the others."""

_LOST = {KafkaError._DESTROY_BROKER, KafkaError._TRANSPORT}
"""Errors of a client whose broker has just come back."""

_NO_COORDINATOR = {
    KafkaError._WAIT_COORD,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}

_LOOKING: dict[str, Consumer] = {}
"""Consumers that look for offsets, by address. To connect takes ten times the CPU of a look."""
_SOON = 5.0
"""Seconds for which a consumer that was connected before may look."""

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class Record:
    """A record as a consumer sees it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    timestamp: int = 0
    offset: int = -1
    partition: int = 0


def create_topic(
    bootstrap: str,
    topic: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    replication: int = -1,
) -> str:
    """Create a topic, wait until its partitions have leaders, and return its name."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, partitions, replication, config=dict(config or {}))
    for attempt in itertools.count():
        try:
            admin.create_topics([new])[topic].result(PATIENCE)
            break
        except KafkaException as error:
            code = error.args[0].code()
            if attempt and code == KafkaError.TOPIC_ALREADY_EXISTS:
                break
            if code not in _LOST:
                raise
    wait_until(lambda: _led(admin, topic, partitions), f"{topic} has leaders")
    return topic


def produce(
    bootstrap: str, topic: str, records: Iterable[Record], config: Mapping[str, Any] | None = None
) -> None:
    """Produce records through librdkafka, each to its own partition.

    Args:
        bootstrap: Where.
        topic: To which topic.
        records: What; a timestamp of 0 means now.
        config: Further configs, such as `{"compression.type": "zstd"}`. With a
            `transactional.id` all records are one committed transaction.
    """
    configs = {"bootstrap.servers": bootstrap, "linger.ms": 5, **_IN_ORDER, **(config or {})}
    failures: list[str] = []
    producer = Producer(configs)
    transactional = "transactional.id" in configs
    if transactional:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
    for record in records:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            partition=record.partition,
            timestamp=record.timestamp,
            headers=list(record.headers),
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
        producer.poll(0)
    if transactional:
        producer.commit_transaction(PATIENCE)
    left = producer.flush(PATIENCE)
    assert not left, f"{left} records were not delivered to {topic}"
    assert not failures, failures[:3]


def consume(
    bootstrap: str,
    topic: str,
    partitions: Sequence[int] = (0,),
    *,
    isolation: str = "read_committed",
    config: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Return all records that a consumer sees now, in order of partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "fetch.wait.max.ms": 10,
            **(config or {}),
        }
    )
    try:
        # Asked for the beginning by name, librdkafka would take half a second to find it.
        places = [TopicPartition(topic, each) for each in partitions]
        for place in places:
            place.offset = consumer.get_watermark_offsets(place, PATIENCE)[0]
        consumer.assign(places)
        return sorted(_until_ends(consumer, len(partitions)), key=_place)
    finally:
        consumer.close()


def grow(bootstrap: str, topic: str, partitions: int) -> None:
    """Give a topic more partitions; wait until each has a leader."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(PATIENCE)
    wait_until(lambda: _led(admin, topic, partitions), f"all partitions of {topic} have a leader")


def set_config(bootstrap: str, topic: str, key: str, value: str) -> None:
    """Change one config of a topic, and wait until a broker shows it.

    A controller answers as soon as it has written the change; brokers take it over behind that.
    """
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)
    wait_for(lambda: topic_config(bootstrap, topic, key), value, f"{key} of {topic}")


def topic_config(bootstrap: str, topic: str, key: str) -> str:
    """Return what a config of a topic is now."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return str(admin.describe_configs([resource])[resource].result(PATIENCE)[key].value)


def commit(bootstrap: str, group: str, topic: str, partition: int, offset: int) -> None:
    """Let a consumer group stand at an offset; a new group may have no coordinator yet."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    place = TopicPartition(topic, partition, offset)
    try:
        wait_until(lambda: _committed(consumer, place), f"group {group} has committed")
    finally:
        consumer.close()


def end_offsets(bootstrap: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Return the log start and the high watermark."""
    place = TopicPartition(topic, partition)
    kept = _LOOKING.get(bootstrap)
    if kept is not None:
        try:
            low, high = kept.get_watermark_offsets(place, _SOON)
        except KafkaException:
            _LOOKING.pop(bootstrap).close()  # a broker may have gone, or the topic was made anew
        else:
            return low, high
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "tests", "log_level": 0})
    try:
        low, high = consumer.get_watermark_offsets(place, PATIENCE)
    except BaseException:
        consumer.close()
        raise
    _LOOKING[bootstrap] = consumer
    return low, high


def delete_before(bootstrap: str, topic: str, offset: int, partition: int = 0) -> None:
    """Delete the records of a partition below an offset, as retention does."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        answer.result(30)


def raw_batches(bootstrap: str, topic: str, partition: int = 0, offset: int = 0) -> bytes:
    """Return record batches as the broker sends them, by one Fetch request of version 4.

    Args:
        bootstrap: The partition's leader, in plain text.
        topic: Name of the topic.
        partition: Its partition.
        offset: Where to begin; the batch that holds it comes first.
    """
    host, _, port = bootstrap.split(",", maxsplit=1)[0].rpartition(":")
    largest = 64 * 1024 * 1024
    name = topic.encode()
    # Replica, wait, fewest bytes, most bytes, isolation, one topic of one partition.
    body = struct.pack(">iiiib", -1, 500, 1, largest, 0)
    body += struct.pack(">ih", 1, len(name)) + name
    body += struct.pack(">iiqi", 1, partition, offset, largest)
    header = struct.pack(">hhih", 1, 4, 1, -1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        answer = _exactly(connection, size)
    # Correlation id, throttle time, one topic, its name, one partition.
    at = 4 + 4 + 4 + 2 + len(name) + 4
    _, error, _, _, aborted = struct.unpack_from(">ihqqi", answer, at)
    assert error == 0, f"fetching {topic}-{partition} answered error {error}"
    at += struct.calcsize(">ihqqi") + max(aborted, 0) * 16
    (length,) = struct.unpack_from(">i", answer, at)
    return answer[at + 4 : at + 4 + max(length, 0)]


def wait_for(
    look: Callable[[], object], expected: object, what: str, seconds: float = PATIENCE
) -> None:
    """Wait until a look finds what is expected.

    Raises:
        AssertionError: It did not within the time; the error says what was found last.
    """
    end, pause = time.monotonic() + seconds, 0.02
    while (found := look()) != expected:
        late = f"not within {seconds:.0f} s: {what} is {found!r}, not {expected!r}"
        assert time.monotonic() < end, late
        time.sleep(pause)
        pause = min(pause * 1.1, 0.2)  # conditions that ask brokers are not cheap


def wait_until(
    condition: Callable[[], bool], what: str | Callable[[], str], seconds: float = PATIENCE
) -> None:
    """Wait until a condition holds.

    Args:
        condition: The condition.
        what: What it is, or what tells that where it did not hold in time.
        seconds: How long to wait.

    Raises:
        AssertionError: It did not within the time.
    """
    end, pause = time.monotonic() + seconds, 0.02
    while not condition():
        told = f"not within {seconds:.0f} s:"
        assert time.monotonic() < end, f"{told} {what if isinstance(what, str) else what()}"
        time.sleep(pause)
        pause = min(pause * 1.1, 0.2)  # conditions that ask brokers are not cheap


def _led(admin: AdminClient, topic: str, partitions: int) -> bool:
    found = admin.list_topics(topic, PATIENCE).topics[topic].partitions
    return len(found) == partitions and all(each.leader >= 0 for each in found.values())


def _committed(consumer: Consumer, place: TopicPartition) -> bool:
    try:
        consumer.commit(offsets=[place], asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() in _NO_COORDINATOR:
            return False
        raise
    return True


def _until_ends(consumer: Consumer, partitions: int) -> list[Record]:
    records: list[Record] = []
    ended: set[int] = set()
    end = time.monotonic() + PATIENCE
    while len(ended) < partitions:
        assert time.monotonic() < end, f"read {len(records)} records, then nothing"
        for message in consumer.consume(1000, 0.01):
            error, partition = message.error(), message.partition()
            if error is None:
                records.append(_record(message))
            elif error.code() == KafkaError._PARTITION_EOF and partition is not None:
                ended.add(partition)
            else:
                raise AssertionError(f"reading: {error}")
    return records


def _record(message: Any) -> Record:
    return Record(
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
        message.offset(),
        message.partition(),
    )


def _place(record: Record) -> tuple[int, int]:
    return record.partition, record.offset


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        assert part, "the broker closed the connection"
        parts += part
    return bytes(parts)
