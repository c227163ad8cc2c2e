"""One partition on two of three brokers, whose leaders are elected uncleanly."""

from __future__ import annotations

from tests.support.kafka import create_topic, wait_until
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


def replicas(cluster: LocalCluster, topic: str) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return leader, replicas and in-sync replicas of partition 0."""
    access = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
    with Admin(access, Side.TARGET) as admin:
        [info] = admin.topics.describe([TopicName(topic)])[TopicName(topic)].partitions
    return info.leader, info.replicas, info.in_sync


def log_end(cluster: LocalCluster, topic: str) -> int:
    """Return the log end offset of partition 0, -1 while nobody tells."""
    access = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
    tp = TopicPartition(TopicName(topic), 0)
    with Admin(access, Side.TARGET) as admin:
        return admin.offsets.log_ends([tp], patience=5.0).get(tp, -1)


class Elections:
    """A topic that takes any leader it can get.

    Args:
        cluster: Three brokers; those of the topic are killed and started.
        topic: The topic, which is created.
        config: Further configs of the topic.

    Attributes:
        leader: The broker that leads.
        other: The other one that has a replica.
    """

    def __init__(
        self, cluster: LocalCluster, topic: str, config: dict[str, str] | None = None
    ) -> None:
        self.cluster, self.topic = cluster, topic
        create_topic(cluster.bootstrap, topic, 1, {**UNCLEAN, **(config or {})}, 2)
        self._down: set[int] = set()
        self.leader, both, _ = replicas(cluster, topic)
        self.other = next(each for each in both if each != self.leader)

    def lead_alone(self) -> None:
        """Kill the other one, so that what is written now only the leader has."""
        wait_until(lambda: len(replicas(self.cluster, self.topic)[2]) == 2, "in sync", 120)
        self._kill(self.other)
        wait_until(lambda: replicas(self.cluster, self.topic)[2] == (self.leader,), "alone", 120)

    def switch(self) -> int:
        """Kill the leader and let the other one lead with what it has; return its log end."""
        self._kill(self.leader)
        self._restart(self.other)
        self.leader, self.other = self.other, self.leader
        wait_until(lambda: replicas(self.cluster, self.topic)[0] == self.leader, "elected", 120)
        wait_until(lambda: log_end(self.cluster, self.topic) >= 0, "it leads", 120)
        return log_end(self.cluster, self.topic)

    def join(self) -> None:
        """Let the other one follow again, which gives up what the leader does not have."""
        self._restart(self.other)
        wait_until(lambda: len(replicas(self.cluster, self.topic)[2]) == 2, "in sync", 120)

    def close(self) -> None:
        """Start what was killed."""
        for broker in sorted(self._down):
            self._restart(broker)

    def _kill(self, broker: int) -> None:
        self.cluster.kill9(broker)
        self._down.add(broker)

    def _restart(self, broker: int) -> None:
        self.cluster.restart(broker)
        self._down.discard(broker)
