"""The data sets: batches of records as a producer would have built them, ready to be sent."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from towpath.runtime.clock import now_ms
from towpath.wire.codec import LZ4, NAMES, NONE
from towpath.wire.records import RECORDS, encode

POOL = 5_000
"""Distinct values from which the records of a set are drawn."""
KEYS = 100_000


@dataclass(frozen=True, slots=True)
class DataSet:
    """One kind of topic.

    Attributes:
        name: Its name, on the command line too.
        about: What it is, for the report.
        partitions: How many.
        records: How many altogether.
        per_batch: Records of one batch.
        codec: Number of the codec of its batches.
        values: Makes the pool of values.
        distinct: How many batches differ; the rest are the same again. 0 for all.
        second: Number of the codec of every other batch of a partition, `None` for the same.
    """

    name: str
    about: str
    partitions: int
    records: int
    per_batch: int
    codec: int
    values: Callable[[random.Random], list[bytes]]
    distinct: int = 0
    second: int | None = None

    @property
    def codec_name(self) -> str:
        """Kafka's name of the codec."""
        return NAMES[self.codec]

    def scaled(self, factor: float) -> DataSet:
        """Return the same set with fewer records, a whole number of batches per partition."""
        step = self.partitions * self.per_batch
        return replace(self, records=max(step, round(self.records * factor / step) * step))


@dataclass(frozen=True, slots=True)
class Prepared:
    """The batches of a set in memory, a list for each partition.

    Attributes:
        data: What was prepared.
        batches: Of each partition, in order.
        record_bytes: Keys, values and headers, as producers and consumers see them.
        wire_bytes: The batches as they lie on disk and go over the wire.
    """

    data: DataSet
    batches: list[list[bytes]]
    record_bytes: int
    wire_bytes: int


def prepare(data: DataSet, seed: int = 1) -> Prepared:
    """Build all batches of a set; the same seed builds the same ones."""
    maker = _Maker(data, seed)
    count = data.records // data.per_batch
    made = [maker.batch() for _ in range(min(count, data.distinct or count))]
    batches: list[list[bytes]] = [[] for _ in range(data.partitions)]
    record_bytes = wire_bytes = 0
    for number in range(count):
        batch, size = made[number % len(made)]
        batches[number % data.partitions].append(batch)
        record_bytes += size
        wire_bytes += len(batch)
    return Prepared(data, batches, record_bytes, wire_bytes)


class _Maker:
    def __init__(self, data: DataSet, seed: int) -> None:
        values = data.values(random.Random(seed))
        self._data = data
        self._values = pa.array(values, pa.binary())
        self._keys = pa.array([b"k%06d" % number for number in range(KEYS)], pa.binary())
        headers = [[{"name": b"schema", "value": b"order/3"}]] * data.per_batch
        self._headers = pa.array(headers, RECORDS.field("headers").type)
        self._header_bytes = data.per_batch * len("schemaorder/3")
        self._offsets = pa.array(np.arange(data.per_batch, dtype=np.int64))
        self._rng = np.random.default_rng(seed)
        self._time = now_ms() - 3_600_000
        self._made = 0

    def batch(self) -> tuple[bytes, int]:
        """Return the next batch, and how many bytes its records have."""
        count = self._data.per_batch
        values = self._values.take(pa.array(self._rng.integers(0, len(self._values), count)))
        keys = self._keys.take(pa.array(self._rng.integers(0, KEYS, count)))
        self._time += 1
        times = pa.array(np.full(count, self._time, np.int64))
        columns = [self._offsets, times, keys, values, self._headers]
        records = pa.RecordBatch.from_arrays(columns, schema=RECORDS)
        size = count * len("k000000") + self._header_bytes + _size(values)
        turn = self._made // self._data.partitions  # every other batch of each partition
        self._made += 1
        codec = self._data.codec if turn % 2 == 0 else self._data.second
        return bytes(encode(records, self._data.codec if codec is None else codec)), size


def _size(values: pa.Array) -> int:
    lengths = np.diff(np.frombuffer(values.buffers()[1], np.int32, len(values) + 1))
    return int(lengths.sum())


def _orders(rng: random.Random) -> list[bytes]:
    """Return JSON documents of about 1 KB, which lz4 makes about half as long."""
    letters = "abcdefghij klmnop"
    return [
        json.dumps(
            {
                "order_id": rng.getrandbits(63),
                "customer": f"cust-{rng.randrange(10**6)}",
                "items": [
                    {
                        "sku": f"sku-{rng.randrange(10**5)}",
                        "qty": rng.randrange(10),
                        "price": rng.random() * 100,
                    }
                    for _ in range(13)
                ],
                "note": "".join(rng.choices(letters, k=150)),
            }
        ).encode()
        for _ in range(POOL)
    ]


def _noise(rng: random.Random) -> list[bytes]:
    return [rng.randbytes(1000) for _ in range(POOL)]


def _readings(rng: random.Random) -> list[bytes]:
    """Return JSON documents of about 80 bytes, 100 with key and header."""
    return [
        b'{"sensor":"s-%05d","value":%.4f,"unit":"celsius","state":"ok","seq":%07d}'
        % (rng.randrange(10**5), rng.random() * 100, rng.randrange(10**7))
        for _ in range(POOL)
    ]


SETS = (
    DataSet("keyed", "1 KB JSON, lz4, batches of 200", 8, 2_000_000, 200, LZ4, _orders),
    DataSet("incompressible", "1 KB noise, batches of 200", 8, 1_000_000, 200, NONE, _noise),
    DataSet(
        "small-records", "100 bytes, lz4, batches of 1,000", 8, 10_000_000, 1000, LZ4, _readings
    ),
    DataSet(
        "single-batches", "1 KB JSON, one record per batch", 8, 300_000, 1, NONE, _orders, POOL
    ),
    DataSet("idle", "1,000 partitions of 100 records, batches of 10", 1000, 100_000, 10, LZ4,
            _orders, 1000),
)  # fmt: skip
MIXED = (
    DataSet("one-codec", "1 KB JSON, one record per batch, lz4", 8, 200_000, 1, LZ4, _orders, POOL),
    DataSet("no-codec", "the same, no codec", 8, 200_000, 1, NONE, _orders, POOL),
    DataSet("mixed", "the same, lz4 and no codec in turn", 8, 200_000, 1, LZ4, _orders, POOL, NONE),
    DataSet("one-codec-few", "100 bytes, one record per batch, lz4", 1, 4_000, 1, LZ4, _readings),
    DataSet("mixed-few", "the same, lz4 and no codec in turn", 1, 4_000, 1, LZ4, _readings,
            second=NONE),
)  # fmt: skip
"""Small batches whose codecs alternate, and the same ones in one codec."""
WARM = DataSet("warm", "what warms copiers and brokers", 8, 200_000, 200, LZ4, _orders)
