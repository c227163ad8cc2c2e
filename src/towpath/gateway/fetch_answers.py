"""Changes of Fetch answers for clients of a gateway, made in place. Pure.

Record batches pass as they are, but for the leader epoch in their headers: it stands outside the
checksum, and means nothing on another cluster. Nothing else is decoded, as these are nearly all of
the bytes of a gateway. The form is that of versions 4 to 15 on Kafka's protocol page.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from towpath.gateway.frame_walks import INT, PREFIX, SAME, FrameWalk
from towpath.gateway.frames import FrameError
from towpath.gateway.recoding import LateAnswer

_FLEXIBLE, _WITH_IDS, _WITH_SESSIONS, _WITH_START, _WITH_REPLICA = 12, 13, 7, 5, 11
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT = 8, 12, 16
_NO_EPOCH = b"\xff\xff\xff\xff"
_OVERHEAD = 12
"""Bytes of a batch before those that its length counts."""
_LEADER_TAG = 1
_PARTITION = struct.Struct(">ih")
_OUT_OF_RANGE = 1
Ahead = Callable[[bytes, int], bool]


class _Walk(FrameWalk):
    """A walk through one answer."""

    __slots__ = ("ahead", "ids", "late", "shown", "topic")

    def __init__(
        self,
        data: bytearray,
        version: int,
        shown: Callable[[int], int],
        ahead: Ahead | None,
        ids: Mapping[bytes, bytes],
    ) -> None:
        super().__init__(data, PREFIX.size, version, flexible=version >= _FLEXIBLE)
        self.shown, self.ahead, self.ids = shown, ahead, ids
        self.topic, self.late = b"", False

    def answer(self) -> None:
        self.tags()
        self.at += 4 + (6 if self.version >= _WITH_SESSIONS else 0)  # throttle; error, session
        by_id, named = self.version >= _WITH_IDS, self._named if self.ahead is not None else None
        self.topics(self._partition, by_id=by_id, named=named, ids=self.ids)
        self.tags()

    def _partition(self) -> None:
        if self.ahead is not None:
            self._judge(self.ahead)
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

    def _named(self, topic: bytes) -> None:
        self.topic = topic

    def _judge(self, ahead: Ahead) -> None:
        """Take an offset that is still to be copied for one without records."""
        number, error = _PARTITION.unpack_from(self.data, self.at)
        if error == _OUT_OF_RANGE and ahead(self.topic, number):
            _PARTITION.pack_into(self.data, self.at, number, 0)
            self.late = True

    def _node(self) -> None:
        (node,) = INT.unpack_from(self.data, self.at)
        if node >= 0:
            INT.pack_into(self.data, self.at, self.shown(node))
        self.at += 4

    def _leader(self, tag: int) -> None:
        if tag == _LEADER_TAG:
            self._node()
            self.no_epoch()


def without_epochs(
    frame: bytearray,
    version: int,
    shown: Callable[[int], int],
    ahead: Ahead | None = None,
    ids: Mapping[bytes, bytes] = SAME,
) -> bytearray:
    """Remove the leader epochs from a Fetch answer, and replace node ids and topic ids.

    Args:
        frame: The answer with its size; it is changed.
        version: Its version, 4 to 15.
        shown: The id under which clients know a broker.
        ahead: Tells of a topic, as it stands in requests, and a partition, whether an offset that
            is out of range is still to be copied: it is answered without records, and late.
        ids: The topic ids that clients know by those of the cluster, where they differ.

    Raises:
        FrameError: It is no such answer.
    """
    walk = _Walk(frame, version, shown, ahead, ids)
    try:
        walk.answer()
    except (struct.error, IndexError) as error:
        raise FrameError(f"an answer to Fetch version {version} that ends early") from error
    if walk.at != len(frame):
        raise FrameError(f"an answer to Fetch version {version} that ends elsewhere")
    return LateAnswer(frame) if walk.late else frame


def strip_epochs(data: bytearray, at: int, end: int) -> None:
    """Take the epochs out of record batches; the last one may be cut off (KIP-74)."""
    while at + _MAGIC_AT < end:
        (length,) = INT.unpack_from(data, at + _LENGTH_AT)
        if length <= 0:
            raise FrameError(f"a batch of {length} bytes")
        if data[at + _MAGIC_AT] >= 2:  # before, a checksum stood there
            data[at + _EPOCH_AT : at + _EPOCH_AT + 4] = _NO_EPOCH
        at += _OVERHEAD + length
