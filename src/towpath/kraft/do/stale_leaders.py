"""Leaders that keep replicas out of the ISR after a rollback, until they get a new epoch.

Each store counts versions of partition states by itself. While the controllers lead, a leader goes
by the partition epoch of the metadata log; a broker that is controller goes by the version of the
znode, and tells it only together with a new leader epoch (`ReplicaManager.becomeLeaderOrFollower`
of Kafka 3.9). Both ways to differ were seen on real brokers:

- The znode's version is higher, as controllers that took over have written states again. The
  controller refuses the leader's changes of the ISR (`KafkaController.tryProcessAlterPartition`),
  and the leader does not try them again (`Partition.handleAlterPartitionError`).
- The znode's version is lower. It rises by one with each new leader epoch, and the leader skips
  those of a lower version than its own (`Partition.makeLeader`). A rollback raises such versions
  before it stops the controllers (`RaisePartitionVersions`), so few are left.

ZooKeeper's controller raises the leader epoch of a partition that is assigned to the replicas that
it has already (`KafkaController.onPartitionReassignment`). No leader, replica or ISR changes by
that, and nothing is restarted. A restart of the leader does so, too, but takes a partition offline
whose ISR is its leader alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from towpath.cluster.admin import Admin
from towpath.kraft.do.waiting import Tell, not_in_sync, unchanged
from towpath.kraft.facts.image import PartitionImage
from towpath.kraft.facts.nodes import serves
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings.sections.clusters import ClusterConfig

_SIDE = "cluster"
_PATIENCE = 20.0
"""Seconds for which replicas may be out of sync before their leaders get a new leader epoch."""
_AGAIN = 5.0
"""Seconds until they get the next one. Doubled each time, as replicas that still copy records need
none."""
_SELDOM = 60.0
"""Longest time between two, so that versions that differ by more are reached, too."""

_Lagging = Mapping[TopicPartition, PartitionImage]


class IsrWatch:
    """Watches replicas, and renews the epoch of leaders that keep them out of the ISR.

    Args:
        config: The brokers, and how to log in.
        tell: Is told of new leader epochs.
        node: The broker that is waited for; None for all.
    """

    def __init__(self, config: ClusterConfig, tell: Tell, node: NodeId | None = None) -> None:
        self._config, self._tell, self._node = config, tell, node
        self._since: float | None = None
        self._patience, self._again = _PATIENCE, _AGAIN
        self._said = ""
        self._times = 0
        self.renewed = 0

    def missing(self, seen: Observation) -> str | None:
        """Return the replicas that are out of sync, with the renewed epochs; else `None`."""
        found = not_in_sync(seen, self._node)
        if found is None:
            return None
        self._watch(lagging(seen))
        return found + self._said

    def left(self) -> str:
        """Return the number of renewed leader epochs, as a sentence."""
        if not self.renewed:
            return unchanged()
        return f"{self.renewed} leaders got a new leader epoch"

    def _watch(self, partitions: _Lagging) -> None:
        now = time.monotonic()
        if not partitions:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= self._patience:
            self._renew(partitions)
            self._since = time.monotonic()
            self._patience, self._again = self._again, min(2 * self._again, _SELDOM)

    def _renew(self, partitions: _Lagging) -> None:
        count = f"{len(partitions)} partitions"
        self._tell(f"giving the leaders of {count} a new leader epoch: all replicas run")
        try:
            with Admin(self._config, _SIDE) as admin:
                told = admin.replicas.assign({tp: it.replicas for tp, it in partitions.items()})
        except ClusterError as error:
            self._said = f"; their leaders got no new leader epoch: {error}"
            return
        self.renewed += len(told)
        self._times += 1
        often = f", {self._times} times by now" if self._times > 1 else ""
        refused = next((f", others not: {each}" for each in told.failed.values()), "")
        self._said = f"; {len(told)} leaders got a new leader epoch{often}{refused}"


def lagging(seen: Observation) -> _Lagging:
    """Return the partitions without a full ISR, where ZooKeeper's controller decides.

    Those whose replicas do not all serve are left out, as are those without a leader, and those
    that are being reassigned: assigning them would end that.
    """
    zookeeper = seen.zookeeper
    holder = zookeeper.controller if zookeeper is not None else None
    if zookeeper is None or seen.log is not None or holder is None or holder.kraft_epoch >= 0:
        return {}
    serving = {each for each in seen.brokers if serves(seen, each)}
    return {
        TopicPartition(TopicName(name), index): each
        for name, topic in zookeeper.image.topics.items()
        for index, each in topic.partitions.items()
        if not (each.adding or each.removing or f"{name}-{index}" in zookeeper.reassigning)
        and set(each.replicas) <= serving
        and each.leader in each.isr
        and not set(each.replicas) <= set(each.isr)
    }
