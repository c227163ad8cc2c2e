"""The ids by which clients know promoted topics: those of the source, as before. Pure.

A client that hears of another id for a topic may take it for another topic, which it does not read
or write (franz-go). So ids are exchanged in what goes to the target and in what comes from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

Ids = dict[bytes, bytes]
"""Topic ids of one cluster with those of the other, each in 16 bytes."""


class TopicIds:
    """The ids of promoted topics on both clusters.

    Attributes:
        own: The target's ids by those that clients know; `shown` the other way round.
    """

    def __init__(self) -> None:
        self.own: Ids = {}
        self.shown: Ids = {}

    def add(self, shown: UUID, own: UUID) -> None:
        """Exchange the ids of a topic from now on."""
        self.own[shown.bytes], self.shown[own.bytes] = own.bytes, shown.bytes

    def remove(self, shown: UUID, own: UUID) -> None:
        """Leave the ids of a topic as they are, as the source serves it again."""
        self.own.pop(shown.bytes, None)
        self.shown.pop(own.bytes, None)


def exchange(topics: Iterable[Any] | None, ids: Ids) -> None:
    """Exchange the ids of topics in a decoded message."""
    for topic in topics or ():
        other = ids.get(topic.topic_id.bytes) if topic.topic_id is not None else None
        if other is not None:
            topic.topic_id = UUID(bytes=other)
