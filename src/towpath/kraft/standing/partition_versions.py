"""Versions of partition states, which both stores count separately. Pure.

While controllers write both stores, leaders know the partition epoch of the metadata log. Several
changes of it may have become one write to ZooKeeper, whose version is lower then: behind an outage
of ZooKeeper, or where another controller took over. The controllers write states whatever their
version is (`ZkTopicMigrationClient.updateTopicPartitionState` of Kafka 3.9), so raising one harms
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from towpath.kraft.facts.image import PartitionImage, TopicImage
from towpath.kraft.facts.seen import Observation
from towpath.model.nouns import TopicName, TopicPartition


def lower_versions(seen: Observation) -> Mapping[TopicPartition, int]:
    """Return the log's epochs of partitions whose version in ZooKeeper is lower."""
    if seen.zookeeper is None or seen.log is None:
        return {}
    found: dict[TopicPartition, int] = {}
    for name, topic in seen.log.image.topics.items():
        there = seen.zookeeper.image.topics.get(name)
        if there is None or there.id != topic.id:
            continue
        for index, each in topic.partitions.items():
            znode = there.partitions.get(index)
            if znode is not None and znode.partition_epoch < each.partition_epoch:
                found[TopicPartition(TopicName(name), index)] = each.partition_epoch
    return found


def with_versions(seen: Observation, versions: Mapping[TopicPartition, int]) -> Observation:
    """Return an observation with other versions of partition states in ZooKeeper."""
    if seen.zookeeper is None:
        return seen

    def raised(name: str, index: int, each: PartitionImage) -> PartitionImage:
        to = versions.get(TopicPartition(TopicName(name), index), each.partition_epoch)
        return replace(each, partition_epoch=to)

    topics = {
        name: TopicImage(
            topic.id, {i: raised(name, i, each) for i, each in topic.partitions.items()}
        )
        for name, topic in seen.zookeeper.image.topics.items()
    }
    image = replace(seen.zookeeper.image, topics=topics)
    return replace(seen, zookeeper=replace(seen.zookeeper, image=image))
