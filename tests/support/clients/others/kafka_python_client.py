"""A client of kafka-python that knows nothing but a gateway."""

from __future__ import annotations

import time
from functools import partial

from kafka import KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConnectionError

from tests.support.clients.others.telling import Told

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def _write(told: Told) -> None:
    producer, count = KafkaProducer(**told.configs), 0
    while not told.over.wait(0.02):
        begun = time.monotonic()
        sent = producer.send(told.topic, told.value(count), partition=count % 2)
        sent.add_callback(lambda _, begun=begun: told.acknowledged(begun))
        sent.add_errback(told.failed)
        count += 1
    producer.flush()
    producer.close()
    told.end(count)


def _read(told: Told) -> None:
    assignor = _ASSIGNORS[told.configs.pop("assignor", "range")]
    consumer = KafkaConsumer(
        told.topic,
        group_id=told.name,
        auto_offset_reset="earliest",
        partition_assignment_strategy=[assignor],
        **told.configs,
    )
    while not told.over.is_set():
        try:
            found = consumer.poll(timeout_ms=200)
        except KafkaConnectionError:  # of a restarted broker, too: it is polled again
            told.over.wait(0.2)
            continue
        for records in found.values():
            for record in records:
                told.read(record.partition, record.offset)
    consumer.close()
    told.end()


def main() -> None:
    """Do what the arguments say."""
    told = Told.begin()
    work = {"write": partial(_write, told), "read": partial(_read, told)}[told.kind]
    try:
        work()
    except Exception as error:
        told.failed(error)
        raise


if __name__ == "__main__":
    main()
