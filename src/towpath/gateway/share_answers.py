"""Changes of answers to ShareFetch and ShareAcknowledge (KIP-932), made in place. Pure.

Both tell where partitions are that have another leader, with addresses of brokers. Clients find
that out by Metadata as well, so they are told nothing of it here. Record batches pass but for
their leader epochs, as in answers to Fetch. The form is that of versions 1 and 2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from towpath.gateway.apis import Api
from towpath.gateway.fetch_answers import strip_epochs
from towpath.gateway.frame_walks import INT, PREFIX, SAME, FrameWalk
from towpath.gateway.frames import FrameError

_WITH_LOCK = 2
"""The version from which on ShareAcknowledge tells for how long records are locked."""
_ACQUIRED = 8 + 8 + 2
_UNKNOWN = -1
_NOTHING = b"\x01\x00"
"""An array without elements, and no tags."""


class _Walk(FrameWalk):
    """A walk through one answer."""

    __slots__ = ("fetches", "ids")

    def __init__(
        self, data: bytearray, version: int, ids: Mapping[bytes, bytes], *, fetches: bool
    ) -> None:
        super().__init__(data, PREFIX.size, version, flexible=True)
        self.fetches, self.ids = fetches, ids

    def answer(self) -> None:
        """Walk to where the addresses of brokers begin, then behind them."""
        self.tags()
        self.at += 4 + 2
        self.text()
        if self.fetches or self.version >= _WITH_LOCK:
            self.at += 4
        self.topics(self._partition, by_id=True, ids=self.ids)
        self._nodes()

    def _partition(self) -> None:
        self.at += 4 + 2
        self.text()
        if self.fetches:
            self.at += 2
            self.text()
        self._leader()
        if self.fetches:
            self._records()
        self.tags()

    def _leader(self) -> None:
        INT.pack_into(self.data, self.at, _UNKNOWN)
        self.at += 4
        self.no_epoch()
        self.tags()

    def _records(self) -> None:
        size = max(self.size(), 0)
        strip_epochs(self.data, self.at, self.at + size)
        self.at += size
        for _ in range(self.count()):
            self.at += _ACQUIRED
            self.tags()

    def _nodes(self) -> None:
        begin = self.at
        for _ in range(self.count()):
            self.at += 4
            self.text()
            self.at += 4
            self.text()
            self.tags()
        self.tags()
        if self.at == len(self.data):
            self.data[begin:] = _NOTHING
            self.at = len(self.data)
            INT.pack_into(self.data, 0, self.at - 4)


def without_leaders(
    frame: bytearray, version: int, key: int, ids: Mapping[bytes, bytes] = SAME
) -> bytearray:
    """Remove the leaders, with their addresses, and all leader epochs from an answer.

    Args:
        frame: The answer with its size; it is changed.
        version: Its version, 1 or 2.
        key: The API key: of ShareFetch or ShareAcknowledge.
        ids: The topic ids that clients know by those of the cluster, where they differ.

    Raises:
        FrameError: It is no such answer.
    """
    walk = _Walk(frame, version, ids, fetches=key == Api.SHARE_FETCH)
    try:
        walk.answer()
    except (struct.error, IndexError) as error:
        raise FrameError(f"an answer to request {key} that ends early") from error
    if walk.at != len(frame):
        raise FrameError(f"an answer to request {key} that ends elsewhere")
    return frame
