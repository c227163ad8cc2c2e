"""Realistic topics for the demo: `python -m towpath.dev.load BOOTSTRAP`.

The topics hold every difficulty that a mirror meets in practice: keys, headers, all codecs, aborted
transactions, holes made by the log cleaner, tombstones, and a log that does not start at 0.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from towpath.dev.errors import BrokerError
from towpath.dev.secure import client_options

TRANSACTION = 500
"""Number of records in one transaction of payments; every fifth transaction is aborted."""


@dataclass(frozen=True, slots=True)
class Row:
    """A record to produce; its key decides the partition."""

    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A demo topic, and the way its records are made.

    Attributes:
        topic: The name of the topic.
        partitions: Number of partitions.
        records: Number of records at scale 1.
        codec: Compression codec of the producer.
        config: Configs of the topic; a `compression.type` there is what the broker writes.
        rows: Returns the records.
        transactional: Whether the records are produced in transactions.
        forget: Share of each partition that is deleted at its start.
    """

    topic: str
    partitions: int
    records: int
    codec: str | None
    config: Mapping[str, str]
    rows: Callable[[int, random.Random], Iterator[Row]]
    transactional: bool = False
    forget: float = 0.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """The number of records that were written to a topic."""

    topic: str
    records: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.topic}: {self.records:,} records in {self.seconds:.1f} s"


def load(
    bootstrap: str,
    *,
    scale: float = 1.0,
    seed: int = 1,
    login: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Loaded, ...]:
    """Create the demo's topics and fill them; about 200,000 records at scale 1.

    Args:
        bootstrap: A cluster that has none of these topics.
        scale: Factor on the number of records.
        seed: The same seed makes the same records.
        login: Options of kafka-python for TLS and a login.
        tell: Called for each topic that is ready.
    """
    done = []
    way = {"bootstrap_servers": bootstrap, **(login or {})}
    with KafkaAdminClient(**way) as admin:
        wanted = {
            each.topic: {"num_partitions": each.partitions, "configs": dict(each.config)}
            for each in SHAPES
        }
        admin.create_topics(wanted, wait_for_metadata=True)
        for shape in SHAPES:
            loaded = _fill(way, shape, int(shape.records * scale), random.Random(seed))  # noqa: S311 - no secret
            _forget(admin, shape)
            tell(str(loaded))
            done.append(loaded)
    return tuple(done)


def _fill(way: Mapping[str, Any], shape: Shape, records: int, rng: random.Random) -> Loaded:
    began = time.monotonic()
    configs: dict[str, Any] = {"compression_type": shape.codec, "linger_ms": 20, "acks": "all"}
    if shape.transactional:
        configs["transactional_id"] = f"load-{shape.topic}"
    producer = KafkaProducer(**way, batch_size=128 * 1024, **configs)
    try:
        rows = shape.rows(records, rng)
        futures = (
            _transactions(producer, shape, rows)
            if shape.transactional
            else [_send(producer, shape, row) for row in rows]
        )
        producer.flush()
    finally:
        producer.close()
    _require_written(shape, futures)
    return Loaded(shape.topic, len(futures), time.monotonic() - began)


def _transactions(producer: Any, shape: Shape, rows: Iterator[Row]) -> list[Any]:
    """Produce payments in transactions; return the futures of committed ones."""
    producer.init_transactions()
    committed: list[Any] = []
    run = 0
    while batch := [row for _, row in zip(range(TRANSACTION), rows, strict=False)]:
        run += 1
        producer.begin_transaction()
        futures = [_send(producer, shape, row) for row in batch]
        if run % 5 == 0:
            producer.flush()
            producer.abort_transaction()
        else:
            producer.commit_transaction()
            committed += futures
    return committed


def _send(producer: Any, shape: Shape, row: Row) -> Any:
    return producer.send(shape.topic, key=row.key, value=row.value, headers=list(row.headers))


def _require_written(shape: Shape, futures: list[Any]) -> None:
    for future in futures:
        if not future.succeeded():
            raise BrokerError(f"writing {shape.topic}: {future.exception}")


def _forget(admin: KafkaAdminClient, shape: Shape) -> None:
    """Delete records at the start of each partition, as retention would."""
    if not shape.forget:
        return
    partitions = [TopicPartition(shape.topic, each) for each in range(shape.partitions)]
    ends = admin.list_partition_offsets(dict.fromkeys(partitions, -1))
    admin.delete_records({each: int(ends[each].offset * shape.forget) for each in partitions})


def _orders(count: int, rng: random.Random) -> Iterator[Row]:
    """Yield JSON documents of about 1 KB that share most of their words, as real documents do."""
    lines = [_order_lines(rng) for _ in range(500)]
    for number in range(count):
        customer = rng.randrange(20_000)
        text = (
            f'{{"order":{number},"customer":"C-{customer:05d}","placed":{1_700_000_000 + number},'
            f'"currency":"EUR","total":{rng.randrange(100, 99_999) / 100},'
            f'"lines":[{lines[rng.randrange(500)]}]}}'
        )
        headers = (("trace-id", b"%016x" % rng.getrandbits(64)), ("schema", b"order/3"))
        yield Row(b"C-%05d" % customer, text.encode(), headers)


def _order_lines(rng: random.Random) -> str:
    words = ("barge", "lock", "tow rope", "lantern", "windlass", "mooring pin", "tiller", "hatch")
    return ",".join(
        f'{{"sku":"{rng.getrandbits(40):010x}","name":"{rng.choice(words)}",'
        f'"quantity":{rng.randrange(1, 9)},"price":{rng.randrange(99, 9_999) / 100}}}'
        for _ in range(12)
    )


def _payments(count: int, rng: random.Random) -> Iterator[Row]:
    for number in range(count):
        text = f'{{"payment":{number},"order":{rng.randrange(count)},"state":"settled"}}'
        yield Row(b"P-%07d" % number, text.encode())


def _customers(count: int, rng: random.Random) -> Iterator[Row]:
    """Yield several changes of each customer, so that the log cleaner removes some."""
    for number in range(count):
        key = b"C-%05d" % rng.randrange(max(1, count // 4))
        if rng.random() < 0.05:
            yield Row(key, None)
            continue
        text = f'{{"version":{number},"note":"{rng.getrandbits(1600):0400x}"}}'
        yield Row(key, text.encode())


def _clicks(count: int, rng: random.Random) -> Iterator[Row]:
    for number in range(count):
        yield Row(b"%06d" % rng.randrange(1_000_000), b"/page/%d?n=%d" % (number % 97, number))


SHAPES = (
    Shape(
        topic="customers",
        partitions=2,
        records=30_000,
        codec=None,
        config={
            "cleanup.policy": "compact",
            "segment.bytes": str(1024 * 1024),
            "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0",
        },
        rows=_customers,
    ),
    Shape(topic="orders", partitions=8, records=100_000, codec="lz4", config={}, rows=_orders),
    Shape(
        topic="payments",
        partitions=4,
        records=20_000,
        codec=None,
        config={"compression.type": "zstd"},
        rows=_payments,
        transactional=True,
    ),
    Shape(topic="clicks", partitions=3, records=40_000, codec="gzip", config={}, rows=_clicks),
    Shape(
        topic="clicks.archive",
        partitions=2,
        records=10_000,
        codec=None,
        config={"compression.type": "snappy"},
        rows=_clicks,
        forget=0.4,
    ),
)


def main() -> None:
    """Load the cluster given by the first argument, with the login in the second one."""
    if len(sys.argv) not in {2, 3}:
        sys.exit("usage: python -m towpath.dev.load BOOTSTRAP [ADMIN.properties]")
    login = client_options(Path(sys.argv[2])) if len(sys.argv) == 3 else None
    load(sys.argv[1], login=login, tell=_say)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
