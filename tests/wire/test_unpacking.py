"""Opening many batches in one call: as the libraries do it, one by one."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cramjam
import lz4.frame
import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import CODECS
from towpath.model.errors import CorruptBatchError
from towpath.wire import codec as codecs
from towpath.wire import unpacking
from towpath.wire.codec import GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from towpath.wire.unpacking import unpack

pieces = st.lists(
    st.builds(lambda piece, times: piece * times, st.binary(max_size=40), st.integers(0, 60)),
    max_size=12,
).map(b"".join)
"""Bytes with repetitions at all distances, and without."""
texts = st.builds(
    lambda seed, size: bytes(random.Random(seed).choices(b"abcdef{}:,0123456789", k=size)),
    st.integers(0, 2**32),
    st.integers(0, 5000),
)
payloads = st.one_of(pieces, texts, st.binary(max_size=300))
FRAMES = st.fixed_dictionaries(
    {
        "block_size": st.sampled_from(
            [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX256KB, lz4.frame.BLOCKSIZE_MAX1MB]
        ),
        "block_linked": st.booleans(),
        "content_checksum": st.booleans(),
        "block_checksum": st.booleans(),
        "store_size": st.booleans(),
        "compression_level": st.sampled_from([-5, 0, 3, 9]),
    }
)


def framed(payload: bytes, size: int) -> bytes:
    """Return data as snappy-java's streams write them."""
    parts = [payload[at : at + size] for at in range(0, len(payload), size)]
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in parts]
    head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


packed = st.one_of(
    st.builds(
        lambda codec, each: (codec, compress(codec, each)), st.sampled_from(CODECS), payloads
    ),
    st.builds(lambda each, kind: (LZ4, lz4.frame.compress(each, **kind)), payloads, FRAMES),
    st.builds(lambda each, size: (SNAPPY, framed(each, size)), payloads, st.integers(1, 3000)),
)


def opened(
    batches: Sequence[tuple[int, bytes]], before: bytes = b"", behind: bytes = b""
) -> list[bytes]:
    """Open batches that lie behind each other in an answer."""
    places, at = np.zeros((len(batches), 3), np.int64), len(before)
    for row, (codec, data) in enumerate(batches):
        places[row] = at, at + len(data), codec
        at += len(data)
    answer = before + b"".join(each for _, each in batches) + behind
    whole = unpack(np.frombuffer(answer, np.uint8), places)
    assert places[0, 0] == 0
    assert (places[1:, 0] == places[:-1, 1]).all()
    assert places[-1, 1] == len(whole)
    return [whole[start:end].tobytes() for start, end, _ in places.tolist()]


def told(codec: int, data: bytes) -> bytes | None:
    """Return what a library makes of a batch, None if it refuses it."""
    try:
        return codecs.decompress(codec, data).tobytes()
    except CorruptBatchError:
        return None


@contextmanager
def alone() -> Iterator[None]:
    """Let no library open anything."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("a library was asked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "decompress", refuse)
        patch.setattr(unpacking, "into", refuse)
        yield


@given(batches=st.lists(packed, min_size=1, max_size=20), room=st.sampled_from([1, 100, 100_000]))
def test_batches_are_opened_as_the_libraries_open_them(
    batches: list[tuple[int, bytes]], room: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "_RATIO", 0)
        patch.setattr(unpacking, "_LEAST_ROOM", room)
        assert opened(batches) == [told(*each) for each in batches]


@given(
    batch=packed,
    damage=st.lists(
        st.tuples(st.integers(0, 6000), st.integers(1, 255)), min_size=0, max_size=3
    ),
    cut=st.integers(0, 40),
    more=st.binary(max_size=20),
)  # fmt: skip
def test_damaged_batches_are_what_the_libraries_say(
    batch: tuple[int, bytes], damage: list[tuple[int, int]], cut: int, more: bytes
) -> None:
    codec, data = batch[0], bytearray(batch[1])
    if damage and data:
        for at, flip in damage:
            data[at % len(data)] ^= flip
    broken = bytes(data[: max(0, len(data) - cut)]) + more
    wanted = told(codec, broken)
    good = (LZ4, compress(LZ4, b"good"))
    if wanted is None:
        with pytest.raises(CorruptBatchError):
            opened([good, (codec, broken), good], b"before", b"behind" * 10)
    else:
        assert opened([good, (codec, broken), good], b"before", b"behind" * 10)[1] == wanted


@given(payload=payloads.filter(len), checked=st.booleans(), sized=st.booleans())
def test_what_clients_of_kafka_write_needs_no_library(
    payload: bytes, checked: bool, sized: bool
) -> None:
    """Java, librdkafka and Go write such frames; Go's have a checksum of the content."""
    frame = lz4.frame.compress(
        payload, block_linked=False, content_checksum=checked, store_size=sized
    )
    batches = [
        (LZ4, frame),
        (SNAPPY, compress(SNAPPY, payload)),
        (SNAPPY, framed(payload, 1000)),
        (NONE, payload),
        (LZ4, compress(LZ4, payload)),
    ]
    with alone():
        small = [each for each in batches if each[0] == NONE or len(each[1]) <= 4096]
        assert opened([(NONE, b""), *small]) == [b"", *[payload] * len(small)]


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("before", [0, 1, 7])
def test_what_is_too_large_is_refused_as_before(codec: int, before: int) -> None:
    bomb = (codec, compress(codec, bytes(900_000)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "LIMIT", 1_000_000)
        assert len(opened([bomb, (NONE, b"1" * before)])[0]) == 900_000
        with pytest.raises(CorruptBatchError, match="more than 100000 bytes"):
            opened([bomb, bomb])


def test_many_bombs_take_no_more_memory_than_they_hold() -> None:
    bombs = [(LZ4, compress(LZ4, bytes(500_000)))] * 20
    assert [len(each) for each in opened(bombs)] == [500_000] * 20


def test_absurd_claims_take_no_memory() -> None:
    good = (SNAPPY, compress(SNAPPY, b"good"))
    for claim in (b"\xff\xff\xff\xff\x03", b"\x80\x80\x80\x80\x02", b"\xff\xff\xff\xff\x0f"):
        with pytest.raises(CorruptBatchError):
            opened([good, (SNAPPY, claim + b"abc")])


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_nothing_is_what_the_libraries_make_of_it(codec: int) -> None:
    if told(codec, b"") is None:
        with pytest.raises(CorruptBatchError):
            opened([(codec, b""), (NONE, b"more")])
    else:
        assert opened([(codec, b""), (NONE, b"more")]) == [told(codec, b""), b"more"]


@given(data=st.binary(max_size=100), kind=st.booleans())
def test_checksums_of_content_are_looked_at(data: bytes, kind: bool) -> None:
    frame = bytearray(lz4.frame.compress(data, block_linked=False, content_checksum=True))
    assert struct.unpack("<I", frame[-4:])[0] == xxhash.xxh32_intdigest(data)
    frame[-1 if kind else -4] ^= 1
    with pytest.raises(CorruptBatchError):
        opened([(LZ4, compress(LZ4, b"good")), (LZ4, bytes(frame))])


def test_a_block_may_repeat_at_any_distance() -> None:
    for distance in range(1, 40):
        piece = bytes(range(distance))
        payload = b"-" * 50 + piece * (300 // distance) + b"the end of it"
        batches = [(LZ4, compress(LZ4, payload)), (SNAPPY, compress(SNAPPY, payload))]
        assert opened(batches) == [payload] * 2
        assert opened(batches, behind=b"x" * 64) == [payload] * 2
