"""Changes of Fetch requests for brokers, made in place: no leader epochs. Pure.

Clients of a gateway are told none. Librdkafka then sends 0 in their place, and a broker whose epoch
is higher refuses that with FENCED_LEADER_EPOCH for ever. The form is that of versions 4 to 15 on
Kafka's protocol page.
"""

from __future__ import annotations

import struct

from towpath.gateway.frame_walks import FrameWalk
from towpath.gateway.frames import FrameError, head

_FLEXIBLE, _WITH_IDS, _WITH_EPOCHS, _WITH_SESSIONS, _WITHOUT_REPLICA = 12, 13, 9, 7, 15


class _Walk(FrameWalk):
    """A walk through one request."""

    __slots__ = ()

    def request(self) -> None:
        self.tags()
        self.at += 0 if self.version >= _WITHOUT_REPLICA else 4
        self.at += 4 + 4 + 4 + 1  # longest wait, smallest and largest answer, isolation
        self.at += 8 if self.version >= _WITH_SESSIONS else 0
        self.topics(self._partition, by_id=self.version >= _WITH_IDS)

    def _partition(self) -> None:
        self.at += 4
        self.no_epoch()
        self.at += 8
        if self.version >= _FLEXIBLE:  # the epoch of the record before
            self.no_epoch()
        self.at += 8 + 4
        self.tags()


def without_leader_epochs(frame: bytearray, version: int) -> bytearray:
    """Remove the leader epochs from a Fetch request.

    Args:
        frame: The request with its size; it is changed.
        version: Its version, 4 to 15.

    Raises:
        FrameError: It is no such request.
    """
    if version < _WITH_EPOCHS:
        return frame
    walk = _Walk(frame, head(frame).end, version, flexible=version >= _FLEXIBLE)
    try:
        walk.request()
    except (struct.error, IndexError) as error:
        raise FrameError(f"a Fetch of version {version} that ends early") from error
    if walk.at > len(frame):
        raise FrameError(f"a Fetch of version {version} that ends early")
    return frame
