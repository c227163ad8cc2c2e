"""Answers about share groups lose leaders, addresses and epochs, and nothing else."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from towpath.gateway.apis import Api
from towpath.gateway.frames import FrameError
from towpath.gateway.share_answers import without_leaders
from towpath.wire import plain

TOPIC = UUID(int=7).bytes
NULL, NO_TAGS, NO_ERROR = b"\0", b"\0", b"\0\0"
SECRET = b"old-1.internal"
FORMS = [
    (Api.SHARE_FETCH, 1),
    (Api.SHARE_FETCH, 2),
    (Api.SHARE_ACKNOWLEDGE, 1),
    (Api.SHARE_ACKNOWLEDGE, 2),
]


def array(*items: bytes) -> bytes:
    return bytes([len(items) + 1]) + b"".join(items)


def compact(data: bytes) -> bytes:
    assert len(data) < 127
    return bytes([len(data) + 1]) + data


def batch(epoch: int) -> bytes:
    made = bytearray(plain.encode([plain.Record(b"k", b"v", (), 1)]))
    made[12:16] = struct.pack(">i", epoch)
    return bytes(made)


def answer(key: int, version: int, *, leader: int, epoch: int, nodes: bytes) -> bytearray:
    """Return an answer for one partition whose leader is another broker."""
    fetches = key == Api.SHARE_FETCH
    partition = struct.pack(">ih", 0, 6) + compact(b"not here")
    partition += NO_ERROR + NULL if fetches else b""
    partition += struct.pack(">ii", leader, epoch) + NO_TAGS
    if fetches:
        partition += compact(batch(epoch)) + array(struct.pack(">qqh", 0, 0, 1) + NO_TAGS)
    lock = struct.pack(">i", 30_000) if fetches or version >= 2 else b""
    topics = array(TOPIC + array(partition + NO_TAGS) + NO_TAGS)
    body = struct.pack(">i", 9) + NO_TAGS + struct.pack(">ih", 0, 0) + NULL + lock + topics
    body += nodes + NO_TAGS
    return bytearray(struct.pack(">i", len(body)) + body)


def node(number: int) -> bytes:
    return struct.pack(">i", number) + compact(SECRET) + struct.pack(">i", 9092) + NULL + NO_TAGS


@pytest.mark.parametrize(("key", "version"), FORMS)
def test_leaders_and_their_addresses_are_not_told(key: int, version: int) -> None:
    told = answer(key, version, leader=3, epoch=12, nodes=array(node(3), node(4)))
    wanted = answer(key, version, leader=-1, epoch=-1, nodes=array())
    assert bytes(without_leaders(told, version, key)) == bytes(wanted)
    assert SECRET not in told
    assert bytes(without_leaders(told, version, key)) == bytes(wanted), "once more"


@pytest.mark.parametrize(("key", "version"), FORMS)
def test_what_is_no_such_answer_is_refused(key: int, version: int) -> None:
    whole = answer(key, version, leader=3, epoch=12, nodes=array(node(3)))
    for end in range(8, len(whole)):
        with pytest.raises(FrameError):
            without_leaders(whole[:end], version, key)
    with pytest.raises(FrameError):
        without_leaders(whole + b"\0", version, key)
