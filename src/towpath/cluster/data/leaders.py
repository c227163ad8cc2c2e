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
    """Look up leaders; partitions without a leader, and missing topics, are left out."""
    wanted = set(tps)
    told = admin.topics.with_brokers(tp.topic for tp in wanted)
    found = Leaders(told.brokers)
    for tp in wanted:
        broker = told.leader(tp)
        if broker is not None:
            found[tp] = Leader(broker, told.topics[tp.topic].id)
    return found
