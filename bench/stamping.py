"""A producer of records that carry the time, at a steady rate: `python -m bench.stamping ...`.

The time is the machine's monotonic clock, which all its processes share. It is read when the
record is handed to the client.
"""

from __future__ import annotations

import argparse
import json
import struct
import time

from confluent_kafka import Producer

VALUE = 200
STAMP = struct.Struct(">q")


def main() -> None:
    """Produce, then print how many records were sent and how long that took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--linger", type=float, required=True, help="in milliseconds")
    parser.add_argument("--batch", type=int, required=True, help="most records of a batch")
    wish = parser.parse_args()
    settings = {
        "bootstrap.servers": wish.bootstrap,
        "linger.ms": wish.linger,
        "batch.num.messages": wish.batch,
        # Five requests in flight, as idempotence has it, would be the limit of tiny batches.
        "enable.idempotence": False,
        "acks": "all",
        "queue.buffering.max.messages": 1_000_000,
    }
    producer = Producer(settings)
    sent, seconds = _produce(producer, wish)
    left = producer.flush(30)
    print(json.dumps({"sent": sent - left, "seconds": round(seconds, 2)}))


def _produce(producer: Producer, wish: argparse.Namespace) -> tuple[int, float]:
    padding = b"x" * (VALUE - STAMP.size)
    # The client learns about the topic before the clock starts.
    producer.list_topics(wish.topic, timeout=10)
    began, sent = time.monotonic(), 0
    while (gone := time.monotonic() - began) < wish.seconds:
        for number in range(sent, int(gone * wish.rate)):
            value = STAMP.pack(time.monotonic_ns()) + padding
            producer.produce(wish.topic, value, partition=number % wish.partitions)
            sent += 1
        producer.poll(0)
        time.sleep(0.0005)
    return sent, time.monotonic() - began


if __name__ == "__main__":
    main()
