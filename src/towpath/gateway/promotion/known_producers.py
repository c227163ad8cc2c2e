"""What both clusters know of producers of topics that moved. Blocking."""

from __future__ import annotations

from collections.abc import Mapping, Set

from towpath.cluster.metadata import Answers, ProducerState
from towpath.gateway.producer_eras import own
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.model.errors import RefusedError
from towpath.model.nouns import TopicPartition
from towpath.runtime.clock import now_ms

_MEMORY_MS = 86_400_000
"""Kafka's default for how long a broker remembers a producer that writes nothing."""


class KnownProducers:
    """Asks clusters which producers they know, so that they judge these themselves.

    A cluster may know some of which this gateway has not heard: they came through another one. And
    it forgets producers that write nothing for a time, as the other one would have done.

    Args:
        at: The clusters, and the routes that are told.

    Attributes:
        unasked: The partitions whose producers are still to be asked for.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self.unasked = set[TopicPartition]()

    def ask(self, *, source_away: bool) -> None:
        """Ask for the producers of all partitions that are left.

        Args:
            source_away: Whether the source cannot be asked.

        Raises:
            TowpathError: A cluster does not answer.
        """
        at, routes, places = self._at, self._at.gateway.routes, self.unasked
        if not places:
            return
        promoted, eras = at.call(lambda: ({*routes.topics}, {**routes.eras}))
        old = self._old()
        of_target = {tp for tp in places if tp.topic in promoted}
        of_source = places - of_target
        if of_target:
            self._learnt(at.link.target.producers.states(of_target), eras, old)
        if of_source and not source_away:
            self._learnt(at.link.source.producers.states(of_source), eras, old)
            of_source = set()
        self.unasked = of_source

    def _learnt(
        self,
        known: Answers[TopicPartition, tuple[ProducerState, ...]],
        eras: Mapping[str, int],
        old: Set[TopicPartition],
    ) -> None:
        routes = self._at.gateway.routes

        def learn() -> None:
            for tp, states in known.items():
                place, era = (tp.topic, tp.partition), eras.get(tp.topic, 0)
                for each in states:
                    producer = own(each.id, era)
                    routes.table.knows(place, producer, each.epoch, each.last_sequence)
                if tp in old:
                    routes.table.forget_all_but(place, {own(each.id, era) for each in states})
            routes.early -= {(tp.topic, tp.partition) for tp in known}
            routes.early |= {(tp.topic, tp.partition) for tp in known.failed}
            self._at.gateway.wake()

        self._at.call(learn)

    def _old(self) -> set[TopicPartition]:
        """Return partitions that moved longer ago than brokers remember producers."""
        before = now_ms() - self._memory_ms()
        return {
            TopicPartition(name, each.partition)
            for name, (record, topic) in self._at.book.last_moves().items()
            if record.at < before
            for each in topic.partitions
        }

    def _memory_ms(self) -> int:
        """Return how long brokers remember producers; Kafka's default if that is hidden."""
        try:
            found = self._at.link.target.cluster.broker_config("producer.id.expiration.ms")
        except RefusedError:  # the login may not see it
            return _MEMORY_MS
        return int(found or _MEMORY_MS)
