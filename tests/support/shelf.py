"""A feed of record batches that lie in memory, as those of an archive do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from towpath.model.nouns import TopicPartition
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane

Batches = Sequence[tuple[int, bytes | bytearray]]
"""The offset behind each batch, and its bytes, in order."""


class Shelf:
    """Hands batches to lanes, as many as each may hold."""

    def __init__(self, landing: Landing, batches: Mapping[TopicPartition, Batches]) -> None:
        self._landing, self._batches = landing, batches
        self._lanes: dict[TopicPartition, Lane] = {}
        self.share = 0
        self.ended = False
        self.throttled = 0.0

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        raise NotImplementedError

    def add(self, lane: Lane) -> None:
        self._lanes[lane.source] = lane
        self._landing.reactor.soon(lambda: self._hand(lane))

    def remove(self, lane: Lane) -> None:
        self._lanes.pop(lane.source, None)

    def park(self, lane: Lane) -> None:
        raise NotImplementedError

    def doubt(self, lane: Lane) -> None:
        raise NotImplementedError

    def room(self, lane: Lane) -> None:
        self._landing.reactor.soon(lambda: self._hand(lane))

    def refill(self) -> None:
        pass

    def news(self) -> None:
        pass

    def end(self) -> None:
        self.ended = True

    def close(self) -> None:
        self._lanes.clear()

    def _hand(self, lane: Lane) -> None:
        for end, batch in self._batches[lane.source]:
            if self.ended or lane.source not in self._lanes or lane.held > self.share:
                return
            if end > lane.expected:
                frame = self._landing.pool.adopt(np.frombuffer(bytearray(batch), np.uint8))
                lane.take(frame, 0, len(batch))
                frame.release()
                self._landing.go(lane)
