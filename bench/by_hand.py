"""What an engineer would write by hand: a topic to Parquet and back, by the usual libraries alone.

A consumer of confluent-kafka fills columns that pyarrow writes, and pyarrow's rows are handed to a
producer. No offsets are kept, nothing is proven, and nothing goes on after a crash.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

_AT_ONCE = 10_000
_GROUP_BYTES = 64 << 20
_PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(_PAIR)),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("ms")),
    ]
)
_CONSUMER = {
    "group.id": "by-hand",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "fetch.max.bytes": 50 << 20,
    "max.partition.fetch.bytes": 8 << 20,
}
_PRODUCER = {
    "compression.type": "lz4",
    "enable.idempotence": True,
    "linger.ms": 20,
    "batch.size": 512 << 10,
    "queue.buffering.max.messages": 200_000,
}


class _Columns:
    """Rows of one partition on their way into a file."""

    def __init__(self, file: Path) -> None:
        self._writer = pq.ParquetWriter(
            file, _SCHEMA, compression="zstd", compression_level=1, use_dictionary=False
        )
        self._columns: list[list[Any]] = [[] for _ in _SCHEMA]
        self._bytes = 0

    def add(self, message: Any) -> None:
        key, value = message.key(), message.value()
        row = (key, value, message.headers(), message.offset(), message.timestamp()[1])
        for column, each in zip(self._columns, row, strict=True):
            column.append(each)
        self._bytes += len(key or b"") + len(value or b"")
        if self._bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._columns[0]:
            self._writer.write_table(pa.table(self._columns, _SCHEMA))
        self._columns, self._bytes = [[] for _ in _SCHEMA], 0

    def close(self) -> None:
        self.flush()
        self._writer.close()


def archive(bootstrap: str, topic: str, folder: Path) -> None:
    """Write each partition of a topic into a file of its own, up to where it ends now."""
    consumer = Consumer(_CONSUMER | {"bootstrap.servers": bootstrap})
    known = consumer.list_topics(topic).topics[topic].partitions
    each = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in known]
    ends = {tp.partition: consumer.get_watermark_offsets(tp)[1] for tp in each}
    consumer.assign(each)
    files = {number: _Columns(folder / f"{number}.parquet") for number in known}
    left = {number for number, end in ends.items() if end}
    while left:
        found: list[Any] = consumer.consume(_AT_ONCE, 1.0)
        for message in found:
            if message.error():
                raise RuntimeError(message.error())
            number, offset = message.partition(), message.offset()
            if offset < ends[number]:
                files[number].add(message)
            if offset >= ends[number] - 1:
                left.discard(number)
    for file in files.values():
        file.close()
    consumer.close()


def restore(bootstrap: str, topic: str, folder: Path) -> None:
    """Produce the rows of all files of a folder into the partitions that they are named by."""
    producer = Producer(_PRODUCER | {"bootstrap.servers": bootstrap})
    failed: list[Any] = []

    def delivered(error: Any, _message: Any) -> None:
        if error:
            failed.append(error)

    for file in sorted(folder.glob("*.parquet")):
        for row in _rows(file):
            headers = [(pair["key"], pair["value"]) for pair in row["headers"] or ()]
            while True:
                try:
                    producer.produce(
                        topic, row["value"], row["key"], int(file.stem),
                        timestamp=row["timestamp"], headers=headers, on_delivery=delivered,
                    )  # fmt: skip
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
    producer.flush()
    if failed:
        raise RuntimeError(failed[0])


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    parquet = pq.ParquetFile(file)
    times = _SCHEMA.get_field_index("timestamp")
    for batch in parquet.iter_batches(_AT_ONCE):
        plain = batch.set_column(times, "timestamp", batch.column("timestamp").cast(pa.int64()))
        yield from plain.to_pylist()


def read(folder: Path) -> None:
    """Read all rows with pyarrow and forget them: less than any restore can do."""
    for file in sorted(folder.rglob("*.parquet")):
        for _ in pq.ParquetFile(file).iter_batches(_AT_ONCE, use_threads=False):
            pass


def main() -> None:
    what, *words = sys.argv[1:]
    if what in {"archive", "restore"}:
        bootstrap, topic, folder = words
        {"archive": archive, "restore": restore}[what](bootstrap, topic, Path(folder))
    else:
        read(Path(words[0]))


if __name__ == "__main__":
    main()
