"""A consumer that tells how old stamped records are when they arrive: `python -m bench.arriving`.

It prints `ready` when it stands at the ends of all partitions, and at the end one line of figures.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, TopicPartition

from bench.stamping import STAMP

Numbers = npt.NDArray[np.int64]
LATE = 20.0
"""Seconds to wait for the last records after they were due."""


def main() -> None:
    """Consume until a record of after the window shows; then print the figures of the window."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--settle", type=float, required=True, help="seconds that do not count")
    parser.add_argument("--seconds", type=float, required=True, help="length of the window")
    wish = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": wish.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.min.bytes": 1,
            "fetch.queue.backoff.ms": 1,
        }
    )
    try:
        consumer.assign([_end(consumer, wish.topic, each) for each in range(wish.partitions)])
        consumer.poll(1.0)
        print("ready", flush=True)
        print(json.dumps(_figures(*_consume(consumer, wish))), flush=True)
    finally:
        consumer.close()


def _end(consumer: Consumer, topic: str, partition: int) -> TopicPartition:
    """Return where a partition ends now."""
    here = TopicPartition(topic, partition)
    _, end = consumer.get_watermark_offsets(here, timeout=30)
    return TopicPartition(topic, partition, end)


def _consume(
    consumer: Consumer, wish: argparse.Namespace
) -> tuple[Numbers, Numbers, Numbers, bool]:
    """Return when records were sent, their ages, their partitions, and whether all were seen."""
    stamps: list[int] = []
    ages: list[int] = []
    partitions: list[int] = []
    first, last = 0, 0
    patience = time.monotonic() + wish.settle + wish.seconds + LATE
    while time.monotonic() < patience:
        message = consumer.poll(0.2)
        now = time.monotonic_ns()
        if message is None or message.error():
            continue
        value, partition = message.value(), message.partition()
        if value is None or partition is None:
            continue
        (sent,) = STAMP.unpack_from(value)
        if not first:
            first = sent + int(wish.settle * 1e9)
            last = first + int(wish.seconds * 1e9)
        # A second more than the window, since partitions are not in step.
        if sent > last + 1_000_000_000:
            return np.array(stamps), np.array(ages), np.array(partitions), True
        if first <= sent < last:
            stamps.append(sent)
            ages.append(now - sent)
            partitions.append(partition)
    return np.array(stamps), np.array(ages), np.array(partitions), False


def _figures(
    stamps: Numbers, ages: Numbers, partitions: Numbers, complete: bool
) -> dict[str, object]:
    if not len(ages):
        return {"records": 0, "complete": False}
    ms = ages / 1e6
    tell = dict(zip(("p50", "p99", "p99.9"), np.percentile(ms, (50, 99, 99.9)), strict=True))
    tell["max"] = ms.max()
    tell["gap"] = _largest_gap(stamps + ages, partitions) / 1e6
    seconds = (stamps.max() - stamps.min()) / 1e9
    return {
        "records": len(ages),
        "complete": complete,
        "per_second": round(len(ages) / max(seconds, 0.001)),
        **{name: round(float(value), 2) for name, value in tell.items()},
    }


def _largest_gap(arrived: Numbers, partitions: Numbers) -> int:
    """Return the longest time in ns in which nothing came of a partition, between two records."""
    gaps = [0]
    for each in np.unique(partitions):
        gaps.extend(np.diff(np.sort(arrived[partitions == each])))
    return int(max(gaps))


if __name__ == "__main__":
    main()
