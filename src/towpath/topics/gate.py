"""A gate for tighter configs: all records from before the source set them are copied.

A broker checks a record against the configs of the moment in which it is appended. So a mirror
topic may get a config that refuses records, such as `cleanup.policy=compact`, once it has
everything that the source had when that config was first seen there: what came later passed the
same check at the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicName, TopicPartition
from towpath.topics.configs import MOST_BYTES, POLICY, TIME_LIMITS
from towpath.topics.observed import Topic
from towpath.topics.releases import SEGMENT_BYTES

_PATIENCE = 2.0
"""Seconds to wait for offsets; a topic whose offsets are not known is not released yet."""

_Seen = tuple[str | None, ...]
"""The configs of a source topic that refuse records."""


@dataclass(slots=True)
class ReleaseGate:
    """Keeps the source's log ends from when a command first saw that configs can be released.

    A command that lives for one look alone asks for the present ends, which come later.
    """

    _ends: dict[TopicName, tuple[_Seen, Mapping[TopicPartition, int]]] = field(default_factory=dict)

    def behind(self, pending: Mapping[TopicName, Topic], link: OpenLink) -> frozenset[TopicName]:
        """Return the topics that still lack records from before their configs were seen.

        Args:
            pending: The source topics whose mirror topics will get such configs, as observed.
            link: The link, with its books read.
        """
        self._ends = {
            name: known
            for name, known in self._ends.items()
            if name in pending and known[0] == _seen(pending[name])
        }
        self._look([topic for name, topic in pending.items() if name not in self._ends], link)
        return frozenset(name for name in pending if not self._passed(name, link))

    def _look(self, topics: list[Topic], link: OpenLink) -> None:
        """Ask where the logs of topics end that were not seen with these configs before."""
        tps = [
            TopicPartition(topic.name, number)
            for topic in topics
            for number in range(topic.partitions)
        ]
        if not tps:
            return
        ends = link.source.offsets.latest(tps, patience=_PATIENCE)
        uncopied = [tp for tp in tps if link.books.of(tp).receipt is None]
        starts = link.source.offsets.earliest(uncopied, patience=_PATIENCE) if uncopied else {}
        for topic in topics:
            own = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
            if all(tp in ends for tp in own):
                full = {tp: ends[tp] for tp in own if starts.get(tp) != ends[tp]}
                self._ends[topic.name] = _seen(topic), full

    def _passed(self, name: TopicName, link: OpenLink) -> bool:
        if name not in self._ends:
            return False
        _, ends = self._ends[name]
        receipts = {tp: link.books.of(tp).receipt for tp in ends}
        return all(
            (receipt := receipts[tp]) is not None and receipt.source_end >= end
            for tp, end in ends.items()
        )


def _seen(topic: Topic) -> _Seen:
    return tuple(
        topic.configs.get(key) for key in (POLICY, SEGMENT_BYTES, MOST_BYTES, *TIME_LIMITS)
    )
