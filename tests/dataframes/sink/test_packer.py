"""Rows become the batches that a reader in plain Python finds again."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.session.examples import examples
from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.dataframes.errors import RowError
from towpath.dataframes.sink.columns import grouped, joined, picked_rows, row_batch
from towpath.dataframes.sink.packer import BatchPacker
from towpath.wire import plain
from towpath.wire.codec import LZ4, NONE, ZSTD
from towpath.wire.header import TRANSACTIONAL, BatchHeader

WHO = ProducerEpoch(7, 3)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
parts = st.one_of(st.none(), st.binary(max_size=40))
headers = st.lists(st.tuples(st.text(max_size=3), parts), max_size=3)
rows = st.tuples(parts, parts, st.integers(0, 1 << 41), headers, st.integers(0, 2))


def arrow(found: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([row[0] for row in found], pa.binary()),
            "value": pa.array([row[1] for row in found], pa.binary()),
            "timestamp": pa.array([row[2] * 1000 for row in found], pa.timestamp("us", "UTC")),
            "headers": pa.array(
                [[{"key": key, "value": value} for key, value in row[3]] for row in found], HEADERS
            ),
            "partition": pa.array([row[4] for row in found], pa.int32()),
        }
    )


@examples(1)
@given(
    pieces=st.lists(st.lists(rows, min_size=1, max_size=12), max_size=4), seed=st.integers(0, 99)
)
def test_rows_are_records_with_consecutive_sequences(pieces: list[Any], seed: int) -> None:
    chance = random.Random(seed)
    codec, most = chance.choice([NONE, LZ4, ZSTD]), chance.choice([1, 60, 500, 1 << 20])
    packers: dict[int, BatchPacker] = {}
    found: dict[int, list[bytes]] = {}
    for piece in pieces:
        batch = row_batch(arrow(piece), "t")
        for number, picked in grouped(batch.partitions("t", None, 3, 0)):
            packer = packers.setdefault(number, BatchPacker(WHO, codec, most, transactional=True))
            sealed = packer.take(picked_rows(batch.rows, picked))
            found.setdefault(number, []).extend(bytes(data) for data, _ in sealed)
    for number, packer in packers.items():
        found[number] += [bytes(data) for data, _ in packer.flush()]
        assert packer.waiting == 0
    for number, batches in found.items():
        said = [row for piece in pieces for row in piece if row[4] == number]
        records = [record for batch in batches for record in plain.decode(batch)]
        assert [(r.key, r.value, r.timestamp) for r in records] == [row[:3] for row in said]
        told = [[(name.decode(), value) for name, value in r.headers] for r in records]
        assert told == [row[3] for row in said]
        sequence = 0
        for each in batches:
            header = BatchHeader.read(each)
            assert (header.producer_id, header.producer_epoch) == (WHO.producer_id, WHO.epoch)
            assert (header.base_offset, header.base_sequence) == (0, sequence)
            assert header.attributes == codec | TRANSACTIONAL
            sequence += header.count


def test_keys_go_where_clients_put_them_and_rows_without_to_one_partition() -> None:
    keys = [b"21", None, b"foobar", b"abc"]
    found = pa.RecordBatch.from_pydict(
        {"key": pa.array(keys, pa.binary()), "value": pa.array([b"v"] * 4, pa.binary())}
    )
    batch = row_batch(found, "t")
    java = [each & 0x7FFFFFFF for each in (-973932308, -790332482, 479470107)]
    """Hashes by `UtilsTest.testMurmur2` of Kafka 4.1."""
    places = [each % 7 for each in java]
    assert batch.partitions("t", None, 7, 5).tolist() == [places[0], 5, *places[1:]]


def test_a_row_names_its_topic_and_partition() -> None:
    found = pa.RecordBatch.from_pydict(
        {
            "value": pa.array([b"%d" % n for n in range(5)], pa.binary()),
            "topic": pa.array(["a", "b", "a", "b", "a"]),
            "partition": pa.array([0, 1, 1, None, 1], pa.int32()),
        }
    )
    batch = row_batch(found, None)
    there: dict[tuple[str, int], list[int]] = {}
    for topic, of_topic in batch.by_topic():
        for number, picked in grouped(batch.partitions(topic, of_topic, 2, 0)):
            rows = joined(of_topic, picked)
            assert rows is not None
            there[topic, number] = rows.tolist()
    assert there == {("a", 0): [0], ("a", 1): [2, 4], ("b", 0): [3], ("b", 1): [1]}
    with pytest.raises(RowError, match="a row names partition 1; topic b has 1: leave the column"):
        batch.partitions("b", None, 1, 0)


def test_what_cannot_be_a_record_is_told() -> None:
    values = pa.array([b"v", b"w"], pa.binary())

    def taken(**columns: pa.Array) -> None:
        topic = None if "topic" in columns else "t"
        row_batch(pa.RecordBatch.from_pydict({"value": values, **columns}), topic)

    with pytest.raises(RowError, match="its column `topic` is null"):
        taken(topic=pa.array(["a", None]))
    with pytest.raises(RowError, match="a row names partition -3"):
        taken(partition=pa.array([0, -3], pa.int32()))
    with pytest.raises(RowError, match="a header has no name"):
        taken(headers=pa.array([[], [{"key": None, "value": b"x"}]], HEADERS))
