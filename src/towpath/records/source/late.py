"""Readers that wait for the rate limit of their topic (`run.max_rate`)."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.source.pace import Pace


class Late:
    """Readers that wait because their topic has reached its rate limit.

    Args:
        pace: The limits.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._waiting: dict[TopicName, dict[TopicPartition, None]] = {}
        """The partitions that wait, by topic, the longest waiting first."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._waiting.get(tp.topic, ())

    def add(self, tp: TopicPartition) -> None:
        """Let a reader wait for the rate limit of its topic."""
        self._waiting.setdefault(tp.topic, {})[tp] = None

    def forget(self, tp: TopicPartition) -> None:
        """Remove a reader from those that wait for a rate limit."""
        waiting = self._waiting.get(tp.topic)
        if waiting is not None:
            waiting.pop(tp, None)
            if not waiting:
                del self._waiting[tp.topic]

    def due(self, topic: TopicName) -> Iterator[TopicPartition]:
        """Yield the readers of a topic for which its rate limit allows a fetch now.

        They wait no more, unless they are added again. The limits call back for the others.
        """
        left = self._pace.left(topic)
        while left > 0 and topic in self._waiting:
            tp = next(iter(self._waiting[topic]))
            size = self._pace.share(tp)
            if not size:
                break
            left -= size
            self.forget(tp)
            yield tp
        if topic in self._waiting:
            self._pace.remind(topic)

    @property
    def seconds(self) -> float:
        """Seconds until a waiting reader may be fetched for, 0 if none waits."""
        return self._pace.wait(self._waiting) if self._waiting else 0.0
