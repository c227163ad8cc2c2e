"""The leaders of partitions, as the data path needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Broker
from towpath.model.nouns import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of a partition, and the id of its topic."""

    broker: Broker
    topic_id: TopicId

    @property
    def node(self) -> int:
        """Id of the leader."""
        return self.broker.id


class Leaders(dict[TopicPartition, Leader]):
    """The leader of each partition that has one.

    `brokers` are all brokers by id: a follower may serve fetches.
    """

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        super().__init__()
        self.brokers = brokers


def find_leaders(admin: Admin, tps: Iterable[TopicPartition]) -> Leaders:
    """Look up leaders; partitions without one, and topics that do not exist, are left out."""
    wanted = set(tps)
    found = Leaders({broker.id: broker for broker in admin.cluster.brokers()})
    for name, topic in admin.topics.describe({tp.topic for tp in wanted}).items():
        for partition in topic.partitions:
            tp = TopicPartition(name, partition.partition)
            broker = found.brokers.get(partition.leader)
            if tp in wanted and broker is not None:
                found[tp] = Leader(broker, topic.id)
    return found
