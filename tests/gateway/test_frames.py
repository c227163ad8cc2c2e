"""Frames are cut wherever the bytes of a connection are, and what is none is refused."""

from __future__ import annotations

import struct
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceRequest

from towpath.gateway.frames import LARGEST, SMALLEST, FrameError, Frames, acks_of, head

bodies = st.lists(st.binary(min_size=SMALLEST, max_size=60), max_size=8)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@given(bodies, st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_frames_are_cut_wherever_the_pieces_end(bodies: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(framed, bodies))
    frames, found, at = Frames(SMALLEST), [], 0
    while at < len(stream):
        size = sizes[at % len(sizes)]
        found += frames.cut(stream[at : at + size])
        at += size
    assert found == [*map(framed, bodies)]


@pytest.mark.parametrize(
    "start", [b"\x15\x03\x03\x00\x02\x02", b"GET / HTTP/1.1\r\n", b"\xff\xff\xff\xff", bytes(12)]
)
def test_bytes_of_another_protocol_are_refused(start: bytes) -> None:
    with pytest.raises(FrameError):
        Frames(SMALLEST).cut(start)


def test_the_largest_frame_is_taken() -> None:
    assert Frames(SMALLEST).cut(struct.pack(">i", LARGEST)) == []
    with pytest.raises(FrameError):
        Frames(SMALLEST).cut(struct.pack(">i", LARGEST + 1))


@given(st.binary(max_size=40))
def test_a_frame_of_any_bytes_has_a_head_or_is_refused(body: bytes) -> None:
    try:
        found = head(framed(body))
        acks_of(framed(body), found)
    except FrameError:
        pass


def test_acks_are_found() -> None:
    for case in product(range(14), (0, 1, -1), (None, "", "ours"), ("", "a client")):
        version, wanted, transactional_id, client = case
        asked = ProduceRequest(
            transactional_id=transactional_id, acks=wanted, timeout_ms=1, topic_data=[]
        )
        asked.API_VERSION = version
        asked.with_header(correlation_id=7, client_id=client)
        frame = bytes(asked.encode(header=True, framed=True))
        found = head(frame)
        assert (found.key, found.version, found.correlation) == (0, version, 7), case
        assert acks_of(frame, found) == wanted, case
