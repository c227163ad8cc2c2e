"""Changes of Fetch answers for clients of a gateway, made in place. Pure.

Record batches pass as they are, but for the leader epoch in their headers: it stands outside the
checksum, and means nothing on another cluster. Nothing else is decoded, as these are nearly all of
the bytes of a gateway. The form is that of versions 4 to 15 on Kafka's protocol page.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from towpath.gateway.frame_walks import INT, PREFIX, FrameWalk
from towpath.gateway.frames import FrameError

_FLEXIBLE, _WITH_IDS, _WITH_SESSIONS, _WITH_START, _WITH_REPLICA = 12, 13, 7, 5, 11
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT = 8, 12, 16
_NO_EPOCH = b"\xff\xff\xff\xff"
_OVERHEAD = 12
"""Bytes of a batch before those that its length counts."""
_LEADER_TAG = 1


class _Walk(FrameWalk):
    """A walk through one answer."""

    __slots__ = ("shown",)

    def __init__(self, data: bytearray, version: int, shown: Callable[[int], int]) -> None:
        super().__init__(data, PREFIX.size, version, flexible=version >= _FLEXIBLE)
        self.shown = shown

    def answer(self) -> None:
        self.tags()
        self.at += 4 + (6 if self.version >= _WITH_SESSIONS else 0)  # throttle; error, session
        self.topics(self._partition, by_id=self.version >= _WITH_IDS)
        self.tags()

    def _partition(self) -> None:
        self.at += 4 + 2 + 8 + 8 + (8 if self.version >= _WITH_START else 0)
        for _ in range(self.count()):  # aborted transactions
            self.at += 16
            self.tags()
        if self.version >= _WITH_REPLICA:
            self._node()
        size = self.size() if self.flexible else self.number()
        if size > 0:
            strip_epochs(self.data, self.at, self.at + size)
            self.at += size
        self.tags(self._leader)

    def _node(self) -> None:
        (node,) = INT.unpack_from(self.data, self.at)
        if node >= 0:
            INT.pack_into(self.data, self.at, self.shown(node))
        self.at += 4

    def _leader(self, tag: int) -> None:
        if tag == _LEADER_TAG:
            self._node()
            self.no_epoch()


def without_epochs(frame: bytearray, version: int, shown: Callable[[int], int]) -> bytearray:
    """Remove the leader epochs from a Fetch answer, and replace the node ids.

    Args:
        frame: The answer with its size; it is changed.
        version: Its version, 4 to 15.
        shown: The id under which clients know a broker.

    Raises:
        FrameError: It is no such answer.
    """
    walk = _Walk(frame, version, shown)
    try:
        walk.answer()
    except (struct.error, IndexError) as error:
        raise FrameError(f"an answer to Fetch version {version} that ends early") from error
    if walk.at != len(frame):
        raise FrameError(f"an answer to Fetch version {version} that ends elsewhere")
    return frame


def strip_epochs(data: bytearray, at: int, end: int) -> None:
    """Take the epochs out of record batches; the last one may be cut off (KIP-74)."""
    while at + _MAGIC_AT < end:
        (length,) = INT.unpack_from(data, at + _LENGTH_AT)
        if length <= 0:
            raise FrameError(f"a batch of {length} bytes")
        if data[at + _MAGIC_AT] >= 2:  # before, a checksum stood there
            data[at + _EPOCH_AT : at + _EPOCH_AT + 4] = _NO_EPOCH
        at += _OVERHEAD + length
