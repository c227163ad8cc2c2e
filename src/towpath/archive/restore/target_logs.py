"""The actual logs of restored topics on the target, compared with the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.archive.restore.model import RestoreScope
from towpath.cluster.admin import Admin
from towpath.ledger.books import PartitionBooks
from towpath.model.errors import TargetLostError
from towpath.model.nouns import TopicId, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class TargetLogs:
    """The restored topics as observed on the target.

    Attributes:
        ids: The ids of those that exist.
        ends: Log end offsets of their partitions, as far as leaders told them.
    """

    ids: Mapping[TopicName, TopicId] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def is_other(self, known: PartitionBooks, target: TopicName) -> bool:
        """Return whether the target topic was deleted since it was restored."""
        return known.opened is not None and known.opened.target_topic_id != self.ids.get(target)

    def loss(self, known: PartitionBooks, at: TopicPartition) -> TargetLostError | None:
        """Return an error if the target log ends before acknowledged records, else `None`.

        Args:
            known: What the ledger says of the partition.
            at: The partition on the target.
        """
        receipt, end = known.receipt, self.ends.get(at)
        if receipt is None or end is None or end >= receipt.target_end:
            return None
        return TargetLostError(str(at), receipt.target_end, end, "offset")


def look_at_logs(target: Admin, scope: RestoreScope) -> TargetLogs:
    """Observe the target logs of a restore's topics.

    Raises:
        ClusterError: The target could not be asked.
    """
    names = [topic.target for topic in scope.topics.values()]
    found = target.topics.describe(names) if names else {}
    there = {name: info for name, info in found.items() if not info.error}
    tps = [
        TopicPartition(name, n) for name, info in there.items() for n in range(len(info.partitions))
    ]
    ends = target.offsets.latest(tps) if tps else {}
    return TargetLogs(
        {name: info.id for name, info in there.items()}, {tp: ends[tp] for tp in tps if tp in ends}
    )
