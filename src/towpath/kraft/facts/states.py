"""Partitions of the metadata log whose state Kafka 3.9 does not make in ZooKeeper.

A leader that begins compares both stores. For a partition that only the log has it sets the content
of a state that nobody made (`KRaftMigrationZkWriter.handleTopicsSnapshot` of Kafka 3.9.2 calls
`updateTopicPartitions`, and the writer of later changes `createTopicPartitions`). So a partition
that was added to a topic in the moment in which a leader ended stops the next one: all that differs
is written behind the topics, and each try ends at the same missing znode. Where others are written
in the same request, `/migration` gets a new version that this leader does not learn, and it refuses
its own writes until another one leads, also once the state is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from towpath.kraft.facts.image import ClusterImage, PartitionImage
from towpath.kraft.facts.seen import Oddity, ZooKeeperSeen
from towpath.model.nouns import TopicName, TopicPartition

States = Mapping[TopicPartition, PartitionImage]
"""States as the metadata log has them, by partition."""


def not_made(zookeeper: ZooKeeperSeen, log: ClusterImage) -> States:
    """Return the partitions that ZooKeeper assigns, and that have a state in the log alone."""
    paths = {each.path for each in zookeeper.odd if each.oddity is Oddity.NO_STATE}
    if not paths:
        return {}
    shared = _of_shared_topics(zookeeper, log)
    return {tp: state for tp, state in shared.items() if _path(tp) in paths}


def to_make(zookeeper: ZooKeeperSeen, log: ClusterImage) -> States:
    """Return all partitions that would stop the next leader: also those not assigned yet."""
    assigned = zookeeper.image.topics
    new = {
        tp: state
        for tp, state in _of_shared_topics(zookeeper, log).items()
        if tp.partition not in assigned[tp.topic].partitions
    }
    return {**new, **not_made(zookeeper, log)}


def _of_shared_topics(zookeeper: ZooKeeperSeen, log: ClusterImage) -> States:
    """Return the log's partitions of the topics in both; a topic as a whole is made rightly."""
    return {
        TopicPartition(TopicName(name), index): each
        for name, topic in log.topics.items()
        if name in zookeeper.image.topics and zookeeper.image.topics[name].id == topic.id
        for index, each in topic.partitions.items()
    }


def _path(tp: TopicPartition) -> str:
    return f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"
