"""Opening lz4 frames into memory that is there: all kinds of frames, and damaged ones."""

from __future__ import annotations

import lz4.frame
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.wire.codec import LZ4, NONE
from towpath.wire.streams import into

_ROOM = 1 << 20
payloads = st.builds(
    lambda piece, times, noise: piece * times + noise,
    st.binary(min_size=1, max_size=64),
    st.integers(0, 9_000),
    st.binary(max_size=300),
)
KINDS = st.fixed_dictionaries(
    {
        "block_size": st.sampled_from(
            [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX256KB, lz4.frame.BLOCKSIZE_MAX1MB]
        ),
        "block_linked": st.booleans(),
        "content_checksum": st.booleans(),
        "block_checksum": st.booleans(),
        "store_size": st.booleans(),
    }
)
PLAIN = {"block_linked": False, "store_size": False}


def opened(data: bytes, room: int = _ROOM) -> bytes | None:
    out = np.empty(room, np.uint8)
    size = into(LZ4, np.frombuffer(data, np.uint8), out)
    assert size <= room
    return None if size < 0 else out[:size].tobytes()


@given(payload=payloads, kind=KINDS)
def test_frames_of_all_kinds_are_opened(payload: bytes, kind: dict[str, int | bool]) -> None:
    assert opened(lz4.frame.compress(payload, **kind)) == payload


def test_blocks_that_begin_like_a_length_are_opened_whole() -> None:
    """The blocks of 13 to 24 and of 121 to 136 zeros do: their first bytes are a small number."""
    for size in range(300):
        assert opened(lz4.frame.compress(bytes(size), **PLAIN)) == bytes(size), size


@given(payload=payloads, cut=st.integers(0, 400), more=st.binary(max_size=20))
def test_frames_that_are_cut_or_longer_are_left_to_others(
    payload: bytes, cut: int, more: bytes
) -> None:
    whole = lz4.frame.compress(payload, **PLAIN)
    if cut:
        assert opened(whole[: max(1, len(whole) - cut)]) is None
    if more:
        assert opened(whole + more) is None


@given(payload=payloads, at=st.integers(5, 500), flip=st.integers(1, 255))
def test_changed_bytes_do_no_harm(payload: bytes, at: int, flip: int) -> None:
    data = bytearray(lz4.frame.compress(payload, **PLAIN))
    data[at % len(data)] ^= flip
    opened(bytes(data), len(payload))


@pytest.mark.parametrize("short", [1, 100, 65_536])
def test_what_has_no_room_is_left_to_others(short: int) -> None:
    payload = np.random.default_rng(1).bytes(200_000)
    data = lz4.frame.compress(payload, **PLAIN)
    assert opened(data, len(payload)) == payload
    assert opened(data, len(payload) - short) is None


def test_other_codecs_are_left_to_others() -> None:
    assert into(NONE, np.zeros(10, np.uint8), np.zeros(10, np.uint8)) == -1
