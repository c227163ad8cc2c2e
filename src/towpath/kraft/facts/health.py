"""Partitions that a restart would hurt, from the store that is authoritative now. Pure."""

from __future__ import annotations

from towpath.kraft.facts.image import ClusterImage, PartitionImage
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import Health, MetadataLogSeen, ZooKeeperSeen

_NONE = -1


def health_of(zookeeper: ZooKeeperSeen | None, log: MetadataLogSeen | None) -> Health | None:
    """Return the partitions that are offline or not in sync; `None` if no store was read.

    Once the controllers have copied ZooKeeper their log decides, before that ZooKeeper does.
    """
    if log is not None and log.state in {LogState.MIGRATION, LogState.POST_MIGRATION}:
        return _of(log.image)
    return _of(zookeeper.image) if zookeeper is not None else None


def _of(image: ClusterImage) -> Health:
    found = [
        (f"{name}-{index}", partition)
        for name, topic in sorted(image.topics.items())
        for index, partition in sorted(topic.partitions.items())
    ]
    return Health(
        offline=tuple(name for name, each in found if each.leader == _NONE),
        under_replicated=tuple(name for name, each in found if _lacks(each)),
    )


def _lacks(partition: PartitionImage) -> bool:
    """Whether a replica is not in sync; those that are being added need not be yet."""
    return not set(partition.replicas) - set(partition.adding) <= set(partition.isr)
