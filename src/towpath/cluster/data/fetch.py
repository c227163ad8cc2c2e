"""Fetch requests and responses, with incremental sessions (KIP-227)."""

from __future__ import annotations

import struct

from towpath.cluster.data import fetch_bodies as bodies
from towpath.cluster.data.fetch_bodies import BY_ID, BY_NAME, DIVERGING, Fetched, FetchFrom
from towpath.cluster.data.frames import Part, ResponseReader
from towpath.model.nouns import TopicId, TopicName, TopicPartition

API = 1
SESSION_ID_NOT_FOUND, INVALID_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR = 70, 71, 106
_SESSION_ERRORS = (SESSION_ID_NOT_FOUND, INVALID_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR)
_LAST_EPOCH = (1 << 31) - 1

_HEAD = struct.Struct(">iiiibii")


def version_for(newest: int, *, ids: bool) -> int:
    """Return the Fetch version for a broker that supports versions up to `newest`.

    Args:
        newest: What the broker told.
        ids: Whether the ids of all topics are known.
    """
    return max(BY_NAME, min(newest, BY_ID if ids else DIVERGING))


class FetchSession:
    """The fetch session of one connection, which transfers only changes.

    Attributes:
        rack: Our rack; the leader then names a replica in it (KIP-392) instead of answering.
        max_bytes: About how large an answer may be; one batch comes even if it is larger (KIP-74).
        throttle: Seconds for which the broker takes no further request, by its last answer.
    """

    def __init__(
        self, version: int, *, max_bytes: int, committed: bool = True, rack: str = ""
    ) -> None:
        self.version = version
        self.max_bytes = max_bytes
        self._committed = committed
        self.rack = rack
        self.throttle = 0.0
        self._wanted: dict[TopicPartition, FetchFrom] = {}
        self._changed: set[TopicPartition] = set()
        self._dropped: dict[TopicPartition, TopicId] = {}
        self._names: dict[TopicId, TopicName] = {}
        self.reset()

    def reset(self) -> None:
        """Reset the session; the next request is a full one."""
        self._id = self._epoch = 0
        self._changed = set(self._wanted)
        self._dropped = {}

    def want(self, tp: TopicPartition, position: FetchFrom) -> None:
        """Fetch `tp` from `position` in the next request and all later ones.

        If its topic was made again, the broker is told to forget the earlier topic, which it would
        go on to answer for otherwise, with INCONSISTENT_TOPIC_ID.
        """
        known = self._wanted.get(tp)
        if known is not None and known.topic_id != position.topic_id:
            self._dropped[tp] = known.topic_id
        if self._dropped.get(tp) == position.topic_id:
            del self._dropped[tp]
        elif tp in self._dropped:
            self._names.pop(self._dropped[tp], None)
        self._wanted[tp] = position
        self._names[position.topic_id] = tp.topic
        self._changed.add(tp)

    def drop(self, tp: TopicPartition) -> None:
        """Remove `tp` from the session."""
        gone = self._wanted.pop(tp, None)
        self._changed.discard(tp)
        if gone is not None:
            self._dropped[tp] = gone.topic_id

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def flexible(self) -> bool:
        """Whether requests and responses use the flexible format with tags (KIP-482)."""
        return self.version >= DIVERGING

    @property
    def by_id(self) -> bool:
        """Whether requests and responses name topics by id (KIP-516)."""
        return self.version >= BY_ID

    def request(self, wait_ms: int) -> list[Part]:
        """Return the body of the next request; the broker waits `wait_ms` for the first byte."""
        head = _HEAD.pack(-1, wait_ms, 1, self.max_bytes, self._committed, self._id, self._epoch)
        changed = {tp: self._wanted[tp] for tp in self._changed}
        dropped = self._dropped
        self._changed, self._dropped = set(), {}
        return [head + bodies.written(self.version, changed, dropped, self.rack)]

    def response(self, data: memoryview) -> list[Fetched] | None:
        """Decode a response; `None` if the session was lost and must start anew.

        An unknown topic id is passed over: its partition was dropped meanwhile. An error of the
        answer as a whole is told of each partition that is wanted.
        """
        reader = ResponseReader(data, 4)
        if self.flexible:
            reader.tags()
        self.throttle = reader.int32() / 1000
        error, self._id = reader.int16(), reader.int32()
        if error:
            self.reset()
            if error in _SESSION_ERRORS:
                return None
            return [bodies.failed(tp, error) for tp in self._wanted]
        self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        if not self._id:
            self.reset()
        return list(bodies.read(self.version, reader, self._names))
