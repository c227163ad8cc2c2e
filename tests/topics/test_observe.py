"""What is made of a cluster's answers, without any cluster."""

from __future__ import annotations

from towpath.cluster.metadata import PartitionInfo, TopicInfo
from towpath.model.nouns import TopicId, TopicName
from towpath.topics.observe import described


def test_the_best_replicated_partition_tells_the_replication_factor() -> None:
    """Partitions may differ for as long as replicas are reassigned."""
    partitions = (
        PartitionInfo(0, 1, (1,)),
        PartitionInfo(1, 2, (2, 3, 1)),
        PartitionInfo(2, -1, ()),
    )
    found = described(TopicInfo(TopicName("a"), TopicId("id"), False, partitions), {})
    assert (found.partitions, found.replication_factor) == (3, 3)
