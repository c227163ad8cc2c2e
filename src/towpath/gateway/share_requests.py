"""Changes of ShareFetch and ShareAcknowledge requests for the target, made in place. Pure.

The form is that of versions 1 and 2.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from towpath.gateway.apis import Api
from towpath.gateway.frame_walks import FrameWalk
from towpath.gateway.frames import FrameError, head

_WITH_MODES = 2
"""The version from which on both tell whether locks are renewed, and ShareFetch how it acquires."""


class _Walk(FrameWalk):
    """A walk through one request."""

    __slots__ = ()

    def request(self, ids: Mapping[bytes, bytes], *, fetches: bool) -> None:
        self.tags()
        self.text()
        self.text()
        self.at += 4  # the epoch of the session
        if fetches:
            self.at += 5 * 4
        if self.version >= _WITH_MODES:
            self.at += 2 if fetches else 1
        self.topics(self._partition, by_id=True, ids=ids)
        if fetches:
            self.topics(self.place, by_id=True, ids=ids)  # that are not wanted any more
        self.tags()

    def _partition(self) -> None:
        self.at += 4
        for _ in range(self.count()):  # acknowledged records
            self.at += 8 + 8
            size = self.count()
            self.at += size
            self.tags()
        self.tags()


def with_ids(frame: bytearray, version: int, key: int, ids: Mapping[bytes, bytes]) -> bytearray:
    """Exchange the topic ids of a request.

    Args:
        frame: The request with its size; it is changed.
        version: Its version, 1 or 2.
        key: The API key: of ShareFetch or ShareAcknowledge.
        ids: The cluster's topic ids by those that the client knows, where they differ.

    Raises:
        FrameError: It is no such request.
    """
    if not ids:
        return frame
    walk = _Walk(frame, head(frame).end, version, flexible=True)
    try:
        walk.request(ids, fetches=key == Api.SHARE_FETCH)
    except (struct.error, IndexError) as error:
        raise FrameError(f"a request {key} that ends early") from error
    if walk.at != len(frame):
        raise FrameError(f"a request {key} that ends elsewhere")
    return frame
