"""The target side of a slice of many partitions: several connections to each leader.

A broker works on one request of a connection at a time. The first batch of a partition makes it
write files of its own to the disk (leader epochs among them), so thousands of partitions that begin
together would wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable

from towpath.records.lane import Lane
from towpath.records.producer import Producer

_LANES = 64
"""A connection more for so many partitions."""
_MOST = 4


class Producers:
    """Deals lanes to as many producers as they are worth; a lane keeps its own."""

    def __init__(self, lanes: int, make: Callable[[], Producer]) -> None:
        self._all = [make() for _ in range(max(1, min(_MOST, lanes // _LANES)))]

    def of(self, lane: Lane) -> Producer:
        """Return the producer of a lane."""
        return self._all[hash(lane.work.target) % len(self._all)]

    def pump_all(self) -> None:
        """Send whatever is ready."""
        for producer in self._all:
            producer.pump_all()

    def close(self) -> None:
        """Close all connections."""
        for producer in self._all:
            producer.nodes.close()
