"""Old message sets, put together here byte by byte, against what becomes of them."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Sequence

import cramjam
import lz4.frame
import pytest

from tests.support.logs.batches import joined
from tests.support.logs.old_messages import message
from towpath.model.errors import CorruptBatchError
from towpath.wire import plain
from towpath.wire.batch import LOG_APPEND_TIME, BatchHeader
from towpath.wire.legacy import convert
from towpath.wire.plain import Record
from towpath.wire.reencode import reencode

LATE = 8


def xerial(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(block)) + block


def lz4_of_magic_0(data: bytes) -> bytes:
    """The frame of old clients, whose header check covers the magic number too."""
    frame = bytearray(lz4.frame.compress(data, block_linked=False, store_size=False))
    assert frame[4:6] == b"\x60\x40", "no content size, blocks of 64 KiB"
    assert frame[6] == 0x82, "the true check of such a header"
    frame[6] = 0x1A  # what xxHash32 gives over 04 22 4d 18 60 40
    return bytes(frame)


PACKERS = [
    pytest.param(1, gzip.compress, id="gzip"),
    pytest.param(2, xerial, id="snappy-xerial"),
    pytest.param(2, lambda data: bytes(cramjam.snappy.compress_raw(data)), id="snappy-raw"),
    pytest.param(3, lambda data: lz4.frame.compress(data, block_linked=False), id="lz4"),
    pytest.param(3, lz4_of_magic_0, id="lz4-broken"),
]

PAIRS = ((b"k", b"v"), (None, b""), (b"", None), (b"long" * 50, b"text" * 500))


def converted(data: bytes) -> list[bytearray]:
    return convert(memoryview(data))


def read(batches: Sequence[bytearray]) -> list[Record]:
    return [record for batch in batches for record in plain.decode(batch)]


def test_messages_without_compression_become_one_batch() -> None:
    old = b"".join(message(0, 10 + 3 * i, *pair) for i, pair in enumerate(PAIRS))
    (batch,) = converted(old)
    assert read([batch]) == [Record(k, v, (), -1, 10 + 3 * i) for i, (k, v) in enumerate(PAIRS)]
    header = BatchHeader.read(batch)
    assert (header.base_offset, header.last_offset_delta, header.attributes) == (10, 9, 0)
    assert (header.first_timestamp, header.max_timestamp) == (-1, -1)


def test_magic_1_brings_its_times() -> None:
    times = [500, 0, -1, 400]
    old = b"".join(message(1, i, *pair, times[i]) for i, pair in enumerate(PAIRS))
    (batch,) = converted(old)
    assert read([batch]) == [Record(k, v, (), times[i], i) for i, (k, v) in enumerate(PAIRS)]
    assert BatchHeader.read(batch).max_timestamp == 500


@pytest.mark.parametrize(("codec", "pack"), PACKERS)
@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_becomes_a_batch(codec: int, pack: object, magic: int) -> None:
    assert callable(pack)
    # Compaction left holes: relative offsets in magic 1, absolute ones in magic 0.
    inside = [2, 3, 7, 8]
    first = 100 if magic == 0 else 0
    inner = b"".join(
        message(magic, first + at, *pair, 50 + at) for at, pair in zip(inside, PAIRS, strict=True)
    )
    (batch,) = converted(message(magic, 108, None, pack(inner), 58, codec))
    times = [50 + at if magic else -1 for at in inside]
    assert read([batch]) == [
        Record(k, v, (), time, 100 + at)
        for at, (k, v), time in zip(inside, PAIRS, times, strict=True)
    ]
    assert BatchHeader.read(batch).attributes == codec


def test_log_append_time_stays() -> None:
    inner = message(1, 0, b"a", b"b", 1) + message(1, 1, b"c", b"d", 2)
    old = message(1, 5, None, gzip.compress(inner), 900, 1 | LATE)
    old += message(1, 6, b"e", b"f", 901, LATE) + message(1, 7, b"g", b"h", 902, LATE)
    old += message(1, 8, b"i", b"j", 7)
    batches = converted(old)
    assert [record.timestamp for record in read(batches)] == [900, 900, 901, 902, 7]
    assert [record.offset for record in read(batches)] == [4, 5, 6, 7, 8]
    attributes = [BatchHeader.read(batch).attributes for batch in batches]
    assert attributes == [LOG_APPEND_TIME | 1, LOG_APPEND_TIME, LOG_APPEND_TIME, 0]


def test_what_comes_out_can_be_made_dense() -> None:
    old = message(0, 3, b"a", b"b") + message(1, 9, b"c", b"d", 5)
    old += message(0, 12, None, gzip.compress(message(0, 11, b"e", b"f")), attributes=1)
    written = reencode(*joined(converted(old)), first_offset=0, end_offset=99, max_bytes=1 << 20)
    assert [dense.offsets.tolist() for dense in written] == [[[3, 1], [9, 1]], [[11, 1]]]


def test_nothing_becomes_nothing() -> None:
    assert converted(b"") == []


INNER = message(1, 0, b"key", b"value", 7) + message(1, 1, None, b"", 8)


@pytest.mark.parametrize(
    "old",
    [
        pytest.param(INNER, id="plain"),
        pytest.param(message(1, 1, None, gzip.compress(INNER, mtime=0), 8, 1), id="gzip"),
        pytest.param(message(1, 1, None, lz4.frame.compress(INNER), 8, 3), id="lz4"),
    ],
)
def test_every_cut_and_every_changed_byte_is_ours(old: bytes) -> None:
    edge = len(message(1, 0, b"key", b"value", 7)) if old == INNER else 0
    for size in set(range(1, len(old))) - {edge}:
        with pytest.raises(CorruptBatchError):
            converted(old[:size])
    for position in range(len(old)):
        damaged = bytearray(old)
        damaged[position] ^= 0x81
        try:
            converted(bytes(damaged))
        except CorruptBatchError:
            continue
        assert position < 8 or edge <= position < edge + 8, "only offsets are not checked"


@pytest.mark.parametrize(
    ("old", "why"),
    [
        (message(2, 0, b"", b""), "magic 2 among old messages"),
        (message(1, 0, b"", gzip.compress(INNER, mtime=0), 0, 4), "codec 4"),
        (message(1, 0, b"", None, 0, 1), "codec 1 and no such value"),
        (message(1, 0, b"", b"\x04\x22", 0, 3), "an lz4 frame of 2 bytes"),
        (message(1, 0, b"", gzip.compress(b"", mtime=0), 0, 1), "wrapper of no messages"),
        (message(0, 0, b"", gzip.compress(INNER, mtime=0), attributes=1), "of another magic"),
        (message(0, 5, b"", b"") + message(0, 5, b"", b""), "do not ascend"),
        (message(0, 5, b"", b"") + message(0, 5 + (1 << 31), b"", b""), "do not ascend"),
        (struct.pack(">qi", 0, -5) + bytes(30), "an old message of -5 bytes"),
    ],
)
def test_what_is_said_of_bad_sets(old: bytes, why: str) -> None:
    with pytest.raises(CorruptBatchError, match=why):
        converted(old)


def test_a_value_that_ends_too_early_or_too_late() -> None:
    for tail, why in [
        (b"\0\0", "inside a length"),
        (b"\0\0\0\x09ab", "beyond its end"),
        (b"\xff" * 8 + b"!", "behind the value"),
    ]:
        body = b"\0\0" + tail
        body = struct.pack(">I", zlib.crc32(body)) + body
        with pytest.raises(CorruptBatchError, match=why):
            converted(struct.pack(">qi", 0, len(body)) + body)
    body = b"\x01\0" + b"\0\0"
    body = struct.pack(">I", zlib.crc32(body)) + body
    with pytest.raises(CorruptBatchError, match="inside its timestamp"):
        converted(struct.pack(">qi", 0, len(body)) + body)
