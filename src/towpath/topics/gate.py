"""A gate for tighter configs: all records from before the source set them are copied.

A broker checks a record against the configs of the moment in which it is appended. So a mirror
topic may get a config that refuses records, such as `cleanup.policy=compact`, once it has
everything that the source had when that config was first seen there: what came later passed the
same check at the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from towpath.cluster.data.client import Client
from towpath.ledger.link import OpenLink
from towpath.ledger.transformed import PositionsTopic
from towpath.model.nouns import Side, TopicName, TopicPartition
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
        reached = _reached(pending.values(), link) if pending else {}
        new = [topic for name, topic in pending.items() if name not in self._ends]
        self._look(new, link, reached)
        return frozenset(name for name in pending if not self._passed(name, reached))

    def _look(
        self, topics: list[Topic], link: OpenLink, reached: Mapping[TopicPartition, int]
    ) -> None:
        """Ask where the logs of topics end that were not seen with these configs before."""
        tps = [*_partitions(topics)]
        if not tps:
            return
        ends = link.source.offsets.latest(tps, patience=_PATIENCE)
        uncopied = [tp for tp in tps if tp not in reached]
        starts = link.source.offsets.earliest(uncopied, patience=_PATIENCE) if uncopied else {}
        for topic in topics:
            own = [TopicPartition(topic.name, number) for number in range(topic.partitions)]
            if all(tp in ends for tp in own):
                full = {tp: ends[tp] for tp in own if starts.get(tp) != ends[tp]}
                self._ends[topic.name] = _seen(topic), full

    def _passed(self, name: TopicName, reached: Mapping[TopicPartition, int]) -> bool:
        if name not in self._ends:
            return False
        _, ends = self._ends[name]
        return all(reached.get(tp, -1) >= end for tp, end in ends.items())


def _partitions(topics: Iterable[Topic]) -> Iterator[TopicPartition]:
    for topic in topics:
        yield from (TopicPartition(topic.name, number) for number in range(topic.partitions))


def _reached(topics: Iterable[Topic], link: OpenLink) -> dict[TopicPartition, int]:
    """Return the source offsets up to which partitions are copied, or went through a query."""
    if link.config.transforms is None:
        receipts = ((tp, link.books.of(tp).receipt) for tp in _partitions(topics))
        return {tp: receipt.source_end for tp, receipt in receipts if receipt is not None}
    with Client(link.config.target, Side.TARGET, link.target) as client:
        positions = PositionsTopic(link.target, client, link.config.link).seen()
    return {tp: at.end for tp, at in positions.items()}


def _seen(topic: Topic) -> _Seen:
    return tuple(
        topic.configs.get(key) for key in (POLICY, SEGMENT_BYTES, MOST_BYTES, *TIME_LIMITS)
    )
