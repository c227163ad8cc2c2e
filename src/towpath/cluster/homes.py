"""Where partitions are led."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.model.nouns import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class Home:
    """The leader of a partition, and the id of its topic."""

    node: int
    host: str
    port: int
    topic_id: TopicId
    leader_epoch: int


def find_homes(admin: Admin, tps: Iterable[TopicPartition]) -> dict[TopicPartition, Home]:
    """Look up leaders; partitions without one, and topics that do not exist, are left out."""
    wanted = set(tps)
    brokers = {broker.id: broker for broker in admin.brokers()}
    found: dict[TopicPartition, Home] = {}
    for name, topic in admin.topics({tp.topic for tp in wanted}).items():
        for partition in topic.partitions:
            tp = TopicPartition(name, partition.partition)
            broker = brokers.get(partition.leader)
            if tp in wanted and broker is not None:
                found[tp] = Home(
                    broker.id, broker.host, broker.port, topic.id, partition.leader_epoch
                )
    return found
