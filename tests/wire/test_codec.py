from __future__ import annotations

import gzip
import struct
from contextlib import suppress

import cramjam
import lz4.frame
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import CODECS
from towpath.model.errors import CorruptBatchError
from towpath.wire import codec as light
from towpath.wire import streams
from towpath.wire.codec import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    compress,
    compress_into,
    most_compressed,
)
from towpath.wire.header import Buffer, Bytes

PACKED = (GZIP, SNAPPY, LZ4, ZSTD)
TEXT = b"one two three four five six seven " * 50


@given(st.sampled_from(CODECS), st.one_of(st.binary(), st.binary().map(lambda b: b * 4000)))
def test_what_goes_in_comes_out(codec: int, data: bytes) -> None:
    packed = compress(codec, data)
    assert decompress(codec, packed).tobytes() == data
    assert decompress(codec, np.frombuffer(packed, np.uint8)).tobytes() == data
    assert decompress(codec, memoryview(bytearray(packed))).tobytes() == data


@pytest.mark.parametrize("codec", PACKED)
def test_large_data_come_back_as_they_were(codec: int) -> None:
    some = np.random.default_rng(5).integers(0, 9, 30_011).astype(np.uint8)
    data = np.resize(some, 9_000_000).tobytes()
    assert decompress(codec, compress(codec, data)).tobytes() == data


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("size", [0, 1, 1 << 16, 1 << 18, (1 << 18) + 1, 1 << 20, (5 << 19) + 3])
@pytest.mark.parametrize("letters", [9, 256], ids=["text", "noise"])
def test_data_is_compressed_into_given_memory(codec: int, size: int, letters: int) -> None:
    data = np.random.default_rng(7).integers(0, letters, size).astype(np.uint8)
    room = most_compressed(size)
    out = np.full(room + 8, 7, np.uint8)
    end = compress_into(codec, data, out[:room])
    assert decompress(codec, out[:end].tobytes()).tobytes() == data.tobytes()
    assert (out[room:] == 7).all()
    if codec == LZ4:  # as Kafka's clients read frames, and the library that writes others
        assert lz4.frame.decompress(out[:end].tobytes()) == data.tobytes()
        assert out[:7].tobytes() == compress(LZ4, data)[:7]


@pytest.mark.parametrize("codec", PACKED)
def test_every_cut_and_every_changed_byte_is_ours(codec: int) -> None:
    packed = compress(codec, TEXT)
    for size in range(len(packed)):
        # A gzip or zstd stream of nothing is nothing.
        if size or codec in {SNAPPY, LZ4}:
            check_refused(codec, packed[:size])
    for position in range(len(packed)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(packed)
            damaged[position] ^= change
            check_read_or_refused(codec, damaged)


@given(st.sampled_from(PACKED), st.binary(max_size=200))
def test_noise_is_refused_or_read(codec: int, noise: bytes) -> None:
    check_read_or_refused(codec, noise)
    start = compress(codec, TEXT)[: len(noise) % 30]
    check_read_or_refused(codec, start + noise)


def decompress(codec: int, data: Bytes, limit: int = light.LIMIT) -> Buffer:
    """Decompress in both ways, which must do the same."""
    try:
        found = light.decompress(codec, data, limit)
    except CorruptBatchError:
        with pytest.raises(CorruptBatchError):
            streams.decompress(codec, data, limit)
        raise
    assert np.array_equal(streams.decompress(codec, data, limit), found)
    return found


def check_refused(codec: int, data: bytes | bytearray) -> None:
    with pytest.raises(CorruptBatchError):
        decompress(codec, data)


def check_read_or_refused(codec: int, data: bytes | bytearray) -> None:
    with suppress(CorruptBatchError):
        assert len(decompress(codec, data, 1 << 20)) <= 1 << 20


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused_at_the_limit(codec: int) -> None:
    bomb = compress(codec, bytes(50_000_000))
    with pytest.raises(CorruptBatchError, match="more than 1000000 bytes"):
        decompress(codec, bomb, 1_000_000)
    assert len(decompress(codec, bomb, 50_000_000)) == 50_000_000


@pytest.mark.parametrize("codec", PACKED)
def test_exactly_the_limit_is_allowed(codec: int) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, len(TEXT)).tobytes() == TEXT
    with pytest.raises(CorruptBatchError, match=f"more than {len(TEXT) - 1} bytes"):
        decompress(codec, packed, len(TEXT) - 1)


def test_absurd_claims_take_no_memory() -> None:
    frame = bytearray(lz4.frame.compress(TEXT, block_linked=False, store_size=True))
    frame[6:14] = struct.pack("<Q", 1 << 62)
    check_refused(LZ4, frame)
    check_refused(SNAPPY, b"\xff\xff\xff\xff\x03" + b"abc")
    check_refused(SNAPPY, b"\x80\x80\x80\x80\x02" + b"abc")


def test_the_framing_of_xerial_is_read() -> None:
    parts = [TEXT[:700], TEXT[700:1400], TEXT[1400:]]
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in parts]
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    framed += b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    assert decompress(SNAPPY, framed).tobytes() == TEXT
    with pytest.raises(CorruptBatchError, match="more than 699 bytes"):
        decompress(SNAPPY, framed, 1399)
    # What a cut between two blocks leaves is whole.
    edges = {16}
    for block in blocks:
        edges.add(max(edges) + 4 + len(block))
    for size in set(range(9, len(framed))) - edges:
        if size > 16:
            check_refused(SNAPPY, framed[:size])


def test_streams_of_several_members() -> None:
    assert decompress(GZIP, gzip.compress(b"one") + gzip.compress(b"two")).tobytes() == b"onetwo"
    frames = compress(ZSTD, b"one") + compress(ZSTD, b"two")
    assert decompress(ZSTD, frames).tobytes() == b"onetwo"
    frames = compress(LZ4, b"one") + compress(LZ4, b"two")
    assert decompress(LZ4, frames).tobytes() == b"onetwo"


def test_linked_lz4_blocks_are_read() -> None:
    data = TEXT * 200
    assert decompress(LZ4, lz4.frame.compress(data, block_linked=True)).tobytes() == data


def test_lz4_is_written_without_linked_blocks() -> None:
    assert compress(LZ4, TEXT)[4] & 0x20


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs_are_refused_with_those_that_are_known(codec: int) -> None:
    with pytest.raises(CorruptBatchError, match=f"codec {codec}, known are 0 to 4"):
        decompress(codec, b"")
    with pytest.raises(ValueError, match=f"codec {codec}, known are 0 to 4"):
        compress(codec, b"")


def test_none_is_the_same_memory() -> None:
    data = np.zeros(3, np.uint8)
    assert np.shares_memory(decompress(NONE, data), data)
