from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import lz4.frame
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clients.consumers import read_by_java
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import consume, create_topic
from tests.support.logs.batches import RECORD, batch, numbered
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.model.changes import AddedHeader, DropRule, IdChange, RecordChange, RecordOrigin
from towpath.model.nouns import ClusterId, LinkName, Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire import plain
from towpath.wire.batch import HEADER_SIZE
from towpath.wire.change import ChangedRecords, Changer
from towpath.wire.codec import GZIP, LZ4, NONE, ZSTD, compress, decompress
from towpath.wire.header import Buffer, sealed
from towpath.wire.ids import IdTable
from towpath.wire.opened import PackedSource, open_batch
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode_opened
from towpath.wire.splicing import spliced

BLOCK = 64 << 10
ORIGIN = RecordOrigin(
    link=LinkName("l"), topic=TopicName("t"), partition=0,
    source_cluster=ClusterId("there"), target_cluster=ClusterId("here"),
)  # fmt: skip
JSON = b'{"ordered_at": "2026-11-%02d", "amount": %d, "shop": "north", "lines": [%d, %d, %d]}'


def frame(data: bytes, size: int = lz4.frame.BLOCKSIZE_MAX64KB, **more: bool) -> bytes:
    packed: bytes = lz4.frame.compress(
        data, block_linked=False, store_size=False, block_size=size, **more
    )
    return packed


def read(data: bytes | memoryview | bytearray) -> bytes:
    """Open a frame by the library, and by what opens those of brokers."""
    opened: bytes = lz4.frame.decompress(bytes(data))
    assert decompress(LZ4, data).tobytes() == opened
    return opened


def array(data: bytes) -> Buffer:
    return np.frombuffer(data, np.uint8)


@dataclass(frozen=True)
class Edit:
    """Bytes that take the place of others."""

    at: int
    gone: int
    put: bytes


def edited(data: bytes, edits: Sequence[Edit]) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Return changed data, and the pieces that stay."""
    made, pieces, done = bytearray(), [], 0
    for edit in sorted(edits, key=lambda each: each.at):
        if edit.at < done:
            continue
        if edit.at > done:
            pieces.append((done, len(made), edit.at - done))
        made += data[done : edit.at] + edit.put
        done = min(len(data), edit.at + edit.gone)
    if done < len(data):
        pieces.append((done, len(made), len(data) - done))
    return bytes(made + data[done:]), pieces


def again(packed: bytes, data: bytes, edits: Sequence[Edit]) -> bytes | None:
    """Splice edits, and check the result if there is one."""
    made, pieces = edited(data, edits)
    kept = np.array(pieces, np.int64).reshape(len(pieces), 3)
    found = spliced(PackedSource(array(packed), len(data), kept), array(made))
    if found is None:
        return None
    opened = bytes(memoryview(found))  # type: ignore[arg-type]  # arrays are buffers
    assert read(opened) == made
    return opened


def text(rng: random.Random, size: int) -> bytes:
    """Return data with many matches, some of which overlap themselves, and a few without."""
    made = bytearray()
    while len(made) < size:
        kind = rng.random()
        if kind < 0.6:
            made += JSON % tuple(rng.randrange(1, 28) for _ in range(5))
        elif kind < 0.8:
            made += bytes([rng.randrange(256)]) * rng.randrange(1, 300)
        else:
            made += rng.randbytes(rng.choice((rng.randrange(1, 200), rng.randrange(260, 700))))
    return bytes(made[:size])


@given(st.integers(0, 1 << 32), st.integers(0, 3 * BLOCK + 77), st.integers(0, 60))
def test_any_edits_of_any_data_give_the_edited_bytes(seed: int, size: int, count: int) -> None:
    rng = random.Random(seed)
    data = text(rng, size)
    edits = [
        Edit(
            rng.randrange(size + 1),
            rng.choice((0, 1, 4, 40, rng.randrange(size + 1) // 8)),
            rng.choice((b"", b"\0\0\4\xd2", b"\6env\x08prod", rng.randbytes(rng.randrange(50)))),
        )
        for _ in range(count)
    ]
    for packed in (
        frame(data),
        frame(data, lz4.frame.BLOCKSIZE_MAX256KB),
        frame(data, content_checksum=True),
        bytes(compress(LZ4, data)),
    ):
        again(packed, data, edits)


def test_fewer_pieces_than_there_are_do_no_harm() -> None:
    data = text(random.Random(1), BLOCK + 999)
    made, pieces = edited(data, [Edit(at, 2, b"abc") for at in range(500, BLOCK, 1500)])
    for step in (2, 3):
        kept = np.array([each for n, each in enumerate(pieces) if n % step], np.int64)
        found = spliced(PackedSource(array(frame(data)), len(data), kept), array(made))
        assert found is None or read(bytes(found)) == made


def test_what_does_not_change_is_sent_as_it_came() -> None:
    data = text(random.Random(2), 5000)
    assert again(frame(data), data, []) == frame(data)


def test_blocks_that_grow_get_a_head_with_room_for_them() -> None:
    data = text(random.Random(3), 2 * BLOCK)
    found = again(frame(data), data, [Edit(at, 0, b"\6env\x08prod") for at in range(0, BLOCK, 700)])
    assert found is not None
    assert (frame(data)[5], found[5]) == (0x40, 0x50)


def test_bytes_without_matches_are_stored() -> None:
    data = random.Random(4).randbytes(BLOCK + 5000)
    found = again(frame(data), data, [Edit(70, 3, b"new bytes")])
    assert found is not None
    assert len(found) < len(data) + 64


@pytest.mark.parametrize(
    "packed",
    [
        lz4.frame.compress(bytes(100_000), block_linked=True, block_size=4),
        lz4.frame.compress(bytes(100_000), block_linked=False, block_checksum=True),
        frame(bytes(50_000))[:-4] + frame(bytes(50_000))[7:],  # a block that is not full
    ],
)
def test_frames_that_no_client_writes_are_left(packed: bytes) -> None:
    data: bytes = bytes(100_000)
    assert again(packed, data, [Edit(1000, 1, b"x")]) is None


def test_where_little_stays_all_is_compressed_anew() -> None:
    data = text(random.Random(5), 9000)
    assert again(frame(data), data, [Edit(100, 8000, bytes(8000))]) is None


# Changes of records

RECORDS = [
    Record(b"k%d" % n, b"\0\0\0\0" + bytes([1 + n % 3]) + JSON % (n % 28, n, n * 7, n, n * n),
           timestamp=1_700_000_000_000 + n, headers=((b"trace", b"%d" % n),))
    for n in range(400)
]  # fmt: skip
HEADER = RecordChange(headers=(AddedHeader(name="env", text="prod"),))
IDS = RecordChange(ids=IdChange(key=None))
TABLE = IdTable.of(value={n: n + 1000 for n in range(1, 4)})


def changed(records: Sequence[Record], change: RecordChange, codec: int = LZ4) -> ChangedRecords:
    changer = Changer(change=change, origin=ORIGIN, ids=TABLE)
    return changer.apply(open_batch(batch(numbered(records), codec)))


@pytest.mark.parametrize("change", [HEADER, IDS, RecordChange(redact=("trace",))])
def test_changed_records_are_as_small_as_if_compressed_anew(change: RecordChange) -> None:
    found = changed(RECORDS, change)
    assert found.opened.origin is not None
    assert spliced(found.opened.origin, found.opened.data) is not None
    (dense,) = reencode_opened(found.opened, max_bytes=1 << 20)
    anew = compress(LZ4, found.opened.data)
    assert dense.batch[HEADER_SIZE:] != anew, "it was compressed anew"
    assert len(dense.batch) < 1.05 * len(anew) + HEADER_SIZE
    (plainly,) = reencode_opened(changed(RECORDS, change, NONE).opened, max_bytes=1 << 20)
    assert plain.decode(dense.batch) == plain.decode(plainly.batch)


@given(st.lists(RECORD, min_size=1, max_size=8), st.sampled_from([HEADER, IDS]))
def test_spliced_records_are_those_of_a_plain_change(
    records: list[Record], change: RecordChange
) -> None:
    made, plainly = (
        reencode_opened(changed(records, change, codec).opened, max_bytes=1 << 20)
        for codec in (LZ4, NONE)
    )
    assert [plain.decode(each.batch) for each in made] == [
        plain.decode(each.batch) for each in plainly
    ]


@pytest.mark.parametrize(
    ("change", "codec"),
    [
        (RecordChange(headers=HEADER.headers, codec="zstd"), LZ4),
        (RecordChange(headers=HEADER.headers, drop=(DropRule(name="d", tombstone=True),)), ZSTD),
        (HEADER, GZIP),
    ],
)
def test_other_codecs_are_compressed_anew(change: RecordChange, codec: int) -> None:
    assert changed(RECORDS, change, codec).opened.origin is None


@pytest.mark.broker
def test_kafka_takes_and_reads_what_was_spliced(
    target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    tp = TopicPartition(TopicName(create_topic(target.bootstrap, new_name("spliced"))), 0)
    came = batch(numbered(RECORDS * 2), NONE)
    packed = frame(bytes(came[HEADER_SIZE:]))  # in blocks of 64 KiB, which grow
    times = RECORDS[0].timestamp, RECORDS[-1].timestamp
    source = sealed(packed, attributes=LZ4, count=len(RECORDS) * 2, times=times)
    found = Changer(change=HEADER, origin=ORIGIN).apply(open_batch(source))
    (dense,) = reencode_opened(found.opened, max_bytes=1 << 20)
    assert dense.batch[HEADER_SIZE + 5] == 0x50, "blocks of up to 256 KiB"
    config = ClusterConfig(bootstrap=target.addresses)
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
        assert client.produce(tp, dense.batch) == 0
    read = consume(target.bootstrap, tp.topic)
    assert [each.value for each in read] == [each.value for each in RECORDS * 2]
    assert {each.headers[-1] for each in read} == {("env", b"prod")}
    values = read_by_java(target.bootstrap, tp.topic, [tp.topic], len(read))
    assert values == [each.value for each in read]


def test_records_that_are_dropped_leave_nothing_to_splice() -> None:
    change = RecordChange(drop=(DropRule(name="old", before=RECORDS[200].timestamp),))
    assert changed(RECORDS, change).opened.origin is None
