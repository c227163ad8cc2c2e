"""Fetching from a follower in the same rack instead of the leader (KIP-392)."""

from __future__ import annotations

from collections.abc import Callable

from towpath.model.nouns import TopicPartition
from towpath.runtime.deadline import Deadline

FAR = 10.0
"""Seconds for which records are fetched from the leader itself after a near replica failed."""
REVIEW = 300.0
"""Seconds after which leaders are asked again for a near replica: one may have fallen behind."""


class Near:
    """The nearby replicas that leaders have named, by partition.

    Args:
        rack: Our rack. If it is "", no replica is ever near.
        leader: Returns the leader of a partition, `None` if unknown.
    """

    def __init__(self, rack: str, leader: Callable[[TopicPartition], int | None]) -> None:
        self.rack, self._leader = rack, leader
        self._at: dict[TopicPartition, int] = {}
        self._far: dict[int, Deadline] = {}

    def node(self, tp: TopicPartition, leader: int) -> int:
        """Return the broker that serves a partition: a near replica, or the leader."""
        return self._at.get(tp, leader)

    def serves(self, tp: TopicPartition, node: int | None) -> bool:
        """Return whether a broker serves a partition as a nearby replica."""
        return tp in self._at and self._at[tp] == node

    def go(self, tp: TopicPartition, replica: int) -> None:
        """Use the nearby replica that the leader has named."""
        self._at[tp] = replica

    def forget(self, tp: TopicPartition) -> None:
        """Stop using a nearby replica; the leader serves the partition again."""
        self._at.pop(tp, None)

    def fail(self, tp: TopicPartition) -> None:
        """Return to the leader without naming our rack, which would yield the same replica."""
        if self._at.pop(tp, None) is None:
            return
        leader = self._leader(tp)
        if leader is not None:
            self._far[leader] = Deadline.after(FAR)

    def told(self, node: int) -> str:
        """Return the rack to name in a request to a broker."""
        far = self._far.get(node)
        return "" if far is not None and not far.over else self.rack

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions that a near replica serves."""
        return frozenset(self._at)
