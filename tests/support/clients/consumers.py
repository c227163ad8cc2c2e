"""Consumers in groups, as applications have them: librdkafka and the console consumer."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError

from tests.support.kafka import PATIENCE
from towpath.dev import distribution
from towpath.engine import java

_CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def read_some(bootstrap: str, group: str, topics: Sequence[str], most: int) -> list[bytes]:
    """Read records as a member of a group by librdkafka; commit each, and leave.

    Args:
        bootstrap: Where.
        group: The group.
        topics: What it subscribes to.
        most: How many records it reads; fewer only where there are no more.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "session.timeout.ms": 6000,
        }
    )
    assigned: set[tuple[str, int]] = set()
    ended: set[tuple[str, int]] = set()
    consumer.subscribe(
        [*topics], on_assign=lambda _, tps: assigned.update((tp.topic, tp.partition) for tp in tps)
    )
    values: list[bytes] = []
    end = time.monotonic() + PATIENCE
    try:
        while len(values) < most and not (assigned and assigned <= ended):
            assert time.monotonic() < end, f"{group} read {len(values)} records, then nothing"
            message = consumer.poll(0.2)
            if message is None:
                continue
            error, place = message.error(), (str(message.topic()), message.partition() or 0)
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(place)
                continue
            ended.discard(place)
            values.append(message.value() or b"")
            consumer.store_offsets(message)
        if values:
            consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return values


def read_by_java(bootstrap: str, group: str, topics: Sequence[str], count: int) -> list[bytes]:
    """Read records as a member of a group by Kafka's console consumer, which commits as it ends.

    Args:
        bootstrap: Where.
        group: The group.
        topics: What it subscribes to.
        count: How many records it reads; what it misses, it waits for in vain.
    """
    jars = distribution.fetch_tools()
    command = [
        str(java.find()), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-cp", f"{jars}/*", _CONSOLE,
        "--bootstrap-server", bootstrap, "--group", group, "--include", "|".join(topics),
        "--isolation-level", "read_committed", "--from-beginning",
        "--timeout-ms", str(int(PATIENCE * 1000)), "--max-messages", str(count),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=False, timeout=2 * PATIENCE)
    values = done.stdout.splitlines()
    assert len(values) == count, done.stderr.decode(errors="replace")
    return values
