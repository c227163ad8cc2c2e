"""A client of aiokafka that knows nothing but a gateway."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.support.clients.others.telling import Told

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


async def _write(told: Told) -> None:
    producer, count = AIOKafkaProducer(**told.configs), 0
    await producer.start()

    def done(sent: asyncio.Future[Any], begun: float) -> None:
        error = sent.exception()
        if error is not None:
            told.failed(error)
        told.acknowledged(begun)

    while not told.over.is_set():
        begun = time.monotonic()
        sent = await producer.send(told.topic, told.value(count), partition=count % 2)
        sent.add_done_callback(lambda sent, begun=begun: done(sent, begun))
        count += 1
        await asyncio.sleep(0.02)
    await producer.stop()
    told.end(count)


async def _read(told: Told) -> None:
    assignor = _ASSIGNORS[told.configs.pop("assignor", "range")]
    consumer = AIOKafkaConsumer(
        told.topic,
        group_id=told.name,
        auto_offset_reset="earliest",
        partition_assignment_strategy=[assignor],
        **told.configs,
    )
    await consumer.start()
    while not told.over.is_set():
        found = await consumer.getmany(timeout_ms=200)
        for records in found.values():
            for record in records:
                told.read(record.partition, record.offset)
    await consumer.stop()
    told.end()


async def _main() -> None:
    told = Told.begin()
    try:
        await {"write": _write, "read": _read}[told.kind](told)
    except Exception as error:
        told.failed(error)
        raise


if __name__ == "__main__":
    asyncio.run(_main())
