"""Freeing of memory from lanes that are stuck at the target, for other lanes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.reactor import Reactor
from towpath.model.nouns import TopicPartition
from towpath.records.lane.lane import Lane
from towpath.records.source.reader import Feed
from towpath.records.standing import Position

_LOOK = 1.0
_PATIENCE, _LONGEST = 10.0, 120.0
"""Least and most seconds without a new record on the target after which a lane counts as stuck."""
_TURNS = 4
"""A lane counts as stuck after this many times the time that a slow target needs for all queues."""
_LOOKS = 10


class Relief:
    """Takes memory back from stuck lanes while memory is scarce.

    Their unsent batches are dropped and fetched again later, so that lanes on a frozen broker, or
    without a right, do not delay the others.
    """

    def __init__(
        self,
        reactor: Reactor,
        pool: BufferPool,
        lanes: Mapping[TopicPartition, Lane],
        feed: Feed[Lane],
    ) -> None:
        self._reactor, self._pool = reactor, pool
        self._lanes, self._feed = lanes, feed
        self._stands: dict[TopicPartition, tuple[Position, float]] = {}
        self._copied: deque[tuple[float, int]] = deque(maxlen=_LOOKS)
        reactor.later(_LOOK, self._look)

    def _look(self) -> None:
        self._reactor.later(_LOOK, self._look)
        if self._pool.left > self._pool.limit // 2:
            self._stands.clear()  # there is enough memory; thousands of idle lanes cost nothing
            self._copied.clear()
            return
        now = time.monotonic()
        patience = self._patience(now)
        lacking = self._pool.left < self._pool.limit // 4
        for tp, lane in self._lanes.items():
            at = lane.progress.position
            known, since = self._stands.get(tp, (None, now))
            if known != at or not lane.queue:
                self._stands[tp] = at, now
            elif lacking and now - since > patience and lane.shed():
                self._feed.park(lane)

    def _patience(self, now: float) -> float:
        """Return the seconds after which a lane counts as stuck."""
        self._copied.append((now, sum(lane.progress.copied_bytes for lane in self._lanes.values())))
        (began, before), (_, after) = self._copied[0], self._copied[-1]
        rate = (after - before) / max(now - began, _LOOK)
        turn = self._pool.held / rate if rate else 0.0
        return min(_LONGEST, max(_PATIENCE, _TURNS * turn))
