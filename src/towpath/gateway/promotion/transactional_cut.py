"""Transactional ids at the cut, and the sequences with which they go on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.metadata import ProducerState
from towpath.gateway.cut_table import Place
from towpath.gateway.producer_eras import SEQUENCES
from towpath.ledger.entries import MovedTransactional, NextSequence
from towpath.model.nouns import ProducerId, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class LeavingTransactional:
    """A transactional id at the cut.

    Attributes:
        entry: How it moves, but for its sequences.
        producer: Its producer id on the cluster that is left; `epoch`, the epoch.
        begun: By partition, the sequence of the client's that was 0 on that cluster.
    """

    entry: MovedTransactional
    producer: ProducerId
    epoch: int
    begun: Mapping[Place, int] = field(default_factory=dict)

    def moved(
        self, found: Mapping[TopicPartition, tuple[ProducerState, ...]]
    ) -> MovedTransactional:
        """Return how it moves, with the sequences with which its client goes on.

        Args:
            found: What the cluster that is left remembers of producers.
        """
        numbers = dict(self.begun)
        for tp, states in found.items():
            for each in states:
                is_this = (each.id, each.epoch) == (self.producer, self.epoch)
                if is_this and each.last_sequence >= 0:
                    place = str(tp.topic), tp.partition
                    numbers[place] = numbers.get(place, 0) + each.last_sequence + 1
        return replace(
            self.entry,
            sequences=tuple(
                NextSequence(topic=TopicName(topic), partition=part, sequence=number % SEQUENCES)
                for (topic, part), number in sorted(numbers.items())
            ),
        )
