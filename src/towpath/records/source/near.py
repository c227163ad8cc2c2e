"""Which replica near us serves a partition instead of its leader (KIP-392)."""

from __future__ import annotations

from towpath.model.deadline import Deadline
from towpath.model.nouns import TopicPartition

FAR = 10.0
"""Seconds for which a leader is asked for the records themselves after a replica near us failed."""
REVIEW = 300.0
"""Seconds after which leaders are asked anew who is near: a replica may have fallen behind."""


class Near:
    """The replicas near us that leaders named.

    Args:
        rack: Where we are; "" where nobody is to know, and then no replica is ever near.
    """

    def __init__(self, rack: str) -> None:
        self.rack = rack
        self._at: dict[TopicPartition, int] = {}
        self._far: dict[int, Deadline] = {}

    def node(self, tp: TopicPartition, leader: int) -> int:
        """Return the broker that serves a partition: a replica near us, or the leader."""
        return self._at.get(tp, leader)

    def serves(self, tp: TopicPartition, node: int | None) -> bool:
        """Whether a broker serves a partition as a replica near us."""
        return tp in self._at and self._at[tp] == node

    def go(self, tp: TopicPartition, replica: int) -> None:
        """The leader named a replica near us."""
        self._at[tp] = replica

    def forget(self, tp: TopicPartition) -> None:
        """Go back to the leader."""
        self._at.pop(tp, None)

    def fail(self, tp: TopicPartition, leader: int | None) -> None:
        """Go back to the leader, and do not tell it where we are: it would send us away again."""
        if self._at.pop(tp, None) is not None and leader is not None:
            self._far[leader] = Deadline.after(FAR)

    def told(self, node: int) -> str:
        """Return the rack that a request to a broker names."""
        far = self._far.get(node)
        return "" if far is not None and not far.over else self.rack

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions that a replica near us serves."""
        return frozenset(self._at)
