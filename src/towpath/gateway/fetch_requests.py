"""Changes of Fetch requests for brokers, made in place: no leader epochs. Pure.

Clients of a gateway are told none. Librdkafka then sends 0 in their place, and a broker whose epoch
is higher refuses that with FENCED_LEADER_EPOCH for ever. The form is that of versions 4 to 15 on
Kafka's protocol page.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from towpath.gateway.frame_walks import SAME, FrameWalk
from towpath.gateway.frames import FrameError, head

WITH_IDS = 13
"""The first version that names topics by their ids."""
FLEXIBLE = 12
"""The first version in the compact form of KIP-482."""
_WITH_EPOCHS, _WITH_SESSIONS, _WITHOUT_REPLICA = 9, 7, 15
_WITH_START = 5
_OFFSET = struct.Struct(">q")
Positions = dict[tuple[bytes, int], int]
"""Offsets that are asked for, by topic, as its name or id stands in requests, and partition."""


class _Walk(FrameWalk):
    """A walk through one request."""

    __slots__ = ("ids", "positions", "topic")

    ids: Mapping[bytes, bytes]
    positions: Positions | None
    topic: bytes

    def request(self) -> None:
        self.tags()
        self.at += 0 if self.version >= _WITHOUT_REPLICA else 4
        self.at += 4 + 4 + 4 + 1  # longest wait, smallest and largest answer, isolation
        self.at += 8 if self.version >= _WITH_SESSIONS else 0
        by_id, named = self.version >= WITH_IDS, self._named if self.positions is not None else None
        self.topics(self._partition, by_id=by_id, named=named, ids=self.ids)
        if by_id and self.ids:
            self.topics(self.place, by_id=True, ids=self.ids)  # that are not wanted any more

    def _named(self, topic: bytes) -> None:
        self.topic = topic

    def _partition(self) -> None:
        number = self.number()
        if self.version >= _WITH_EPOCHS:
            self.no_epoch()
        if self.positions is not None:
            (self.positions[self.topic, number],) = _OFFSET.unpack_from(self.data, self.at)
        self.at += 8
        if self.version >= FLEXIBLE:  # the epoch of the record before
            self.no_epoch()
        self.at += (8 if self.version >= _WITH_START else 0) + 4
        self.tags()


def without_leader_epochs(
    frame: bytearray,
    version: int,
    positions: Positions | None = None,
    ids: Mapping[bytes, bytes] = SAME,
) -> bytearray:
    """Remove the leader epochs from a Fetch request, and exchange topic ids.

    Args:
        frame: The request with its size; it is changed.
        version: Its version, 4 to 15.
        positions: Where to note the offsets that it asks for.
        ids: The cluster's topic ids by those that the client knows, where they differ.

    Raises:
        FrameError: It is no such request.
    """
    if version < _WITH_EPOCHS and positions is None:
        return frame
    walk = _Walk(frame, head(frame).end, version, flexible=version >= FLEXIBLE)
    walk.positions, walk.ids = positions, ids
    try:
        walk.request()
    except (struct.error, IndexError) as error:
        raise FrameError(f"a Fetch of version {version} that ends early") from error
    if walk.at > len(frame):
        raise FrameError(f"a Fetch of version {version} that ends early")
    return frame
