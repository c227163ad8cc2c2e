"""Both clusters of a link with `transform`, when the comparison of its records began."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import every_partition
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.verify.scope import Scope
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

_PATIENCE = 60.0
"""Seconds for transactions that are open when the comparison begins."""
_PAUSE = 0.2
"""Seconds between two looks at these."""

Positions = Mapping[TopicPartition, TransformedPosition]


@dataclass(slots=True)
class SeenClusters:
    """Both clusters when the comparison began.

    Attributes:
        rows: The status of all partitions.
        positions: Their positions.
        chosen: Those of the partitions that are compared.
        first: Log start of all target partitions.
        end: Log end of those whose open transactions have ended.
        compacts: Topics that are compacted or may be, by side.
        earliest: Log start of source partitions.
        since: The source offset from which on records are to be compared.
        counts: Number of partitions of each mirror topic.
        borders: From which offset on clients may write to target partitions, since a cutover.
    """

    rows: tuple[PartitionStatus, ...]
    positions: Positions
    chosen: tuple[PartitionStatus, ...]
    first: dict[TopicPartition, int] = field(default_factory=dict)
    end: dict[TopicPartition, int] = field(default_factory=dict)
    compacts: dict[Side, frozenset[TopicName]] = field(default_factory=dict)
    earliest: dict[TopicPartition, int] = field(default_factory=dict)
    since: dict[TopicPartition, int] = field(default_factory=dict)
    counts: dict[TopicName, int] = field(default_factory=dict)
    borders: dict[TopicPartition, int] = field(default_factory=dict)

    def look(self, scope: Scope, source: Admin, target: Admin, stop: threading.Event) -> None:
        """Look at the logs of both sides, once transactions that are open now have ended.

        Args:
            scope: What to compare.
            source: The source.
            target: The target.
            stop: Set to wait no longer.

        Raises:
            ClusterError: A cluster could not be reached, or refused us.
        """
        known = [row.tp for row in self.rows if not row.error]
        self.earliest = dict(source.offsets.earliest(known).items())
        self.since = _since(scope, source, known)
        names = {row.target_topic for row in self.rows if row.target_topic}
        found = target.topics.describe(names)
        self.counts = {name: len(info.partitions) for name, info in found.items()}
        there = every_partition(found)
        self.first = dict(target.offsets.earliest(there).items())
        self.end = _settled(target, there, stop)
        self.compacts[Side.SOURCE] = _compacting(source, {tp.topic for tp in known})
        self.compacts[Side.TARGET] = _compacting(target, set(found))


def _since(scope: Scope, source: Admin, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    if scope.since_ms is not None:
        return dict(source.offsets.at_time(tps, scope.since_ms).items())
    return dict.fromkeys(tps, scope.since_offset) if scope.since_offset else {}


def _settled(
    target: Admin, tps: Sequence[TopicPartition], stop: threading.Event
) -> dict[TopicPartition, int]:
    """Return where partitions end, but of those where a transaction stays open."""
    ends = dict(target.offsets.latest(tps).items())
    until_then = Deadline.after(_PATIENCE)
    while True:
        stable = target.offsets.latest(ends, committed=True)
        open_ones = [tp for tp, end in ends.items() if stable.get(tp, -1) < end]
        if not open_ones or until_then.over or stop.is_set():
            return {tp: end for tp, end in ends.items() if tp not in open_ones}
        time.sleep(_PAUSE)


def _compacting(admin: Admin, topics: Iterable[TopicName]) -> frozenset[TopicName]:
    """Return the topics that are compacted, or that do not tell."""
    configs = admin.configs.describe(topics)
    entries = {name: (configs.get(name) or {}).get("cleanup.policy") for name in topics}
    return frozenset(
        name for name, each in entries.items() if each is None or "compact" in (each.value or "")
    )
