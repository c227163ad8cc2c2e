"""Creating, writing and reading salvage topics on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from towpath.cluster.data.committed import CommittedReader
from towpath.cluster.data.transaction_writer import TransactionWriter
from towpath.mirror.failback.clusters import OpenCluster
from towpath.mirror.failback.salvage.format import ReplayedMark, SalvagedRecord, decode
from towpath.model.errors import RefusedError
from towpath.model.nouns import LinkName, TopicName, TopicPartition

CONFIGS = {
    "cleanup.policy": "delete",
    # It has the only copy of a record, once the losing cluster is gone.
    "retention.ms": "-1",
    "retention.bytes": "-1",
    # The limit of a whole request (socket.request.max.bytes) by default.
    "max.message.bytes": "104857600",
    "message.timestamp.type": "CreateTime",
}
_REPLICAS = 3
_EXISTS = "TOPIC_ALREADY_EXISTS"


SAVING, REPLAYING = "salvage", "replay"
"""What a writer to salvage topics does; who saves never ends a replay, which may take long."""


def transactional_id(link: LinkName, work: str) -> str:
    """Return the transactional id under which a link salvages or replays records.

    It begins as those of its partitions do, so one ACL covers all (docs/rights.md). No partition
    has it: their ids end with a number.
    """
    return f"towpath.{link}.:{work}"


def writer(cluster: OpenCluster, link: LinkName, work: str) -> TransactionWriter:
    """Return a writer to the salvage topics of a link; `begin` fences those that do the same."""
    timeout = cluster.where.request_timeout
    return TransactionWriter(cluster.admin, cluster.client, transactional_id(link, work), timeout)


def prepare(cluster: OpenCluster, topic: TopicName, partitions: int) -> None:
    """Create a salvage topic, or add partitions, so that it has as many as its origin.

    Raises:
        ClusterError: The cluster refuses it, or cannot be asked.
    """
    found = cluster.admin.topics.find(topic)
    if found is None:
        replicas = min(_REPLICAS, len(cluster.admin.cluster.brokers()))
        try:
            cluster.admin.topics.create(topic, partitions, replicas, CONFIGS)
        except RefusedError as error:
            if error.name != _EXISTS:
                raise
    elif len(found.partitions) < partitions:
        cluster.admin.topics.grow(topic, partitions)


@dataclass(slots=True)
class ReadSalvage:
    """A reader of one partition of a salvage topic.

    Attributes:
        place: The partition.
        marks: What was replayed.
        foreign: How many records are none of ours.
    """

    cluster: OpenCluster
    place: TopicPartition
    marks: list[ReplayedMark] = field(default_factory=list)
    foreign: int = 0

    def records(self, at: int | None = None) -> Iterator[SalvagedRecord]:
        """Yield the salvaged records, in their order; `marks` and `foreign` fill meanwhile.

        Args:
            at: The offset to begin at, by default where the log begins.

        Raises:
            ClusterError: They cannot be read.
        """
        self.marks, self.foreign = [], 0
        here = self.cluster
        reader = CommittedReader(here.admin, here.client, self.place, at=at, side=here.side)
        for record in reader.read():
            told = decode(record)
            if isinstance(told, SalvagedRecord):
                yield told
            elif told is None:
                self.foreign += 1
            else:
                self.marks.append(told)

    @property
    def replayed_to(self) -> int:
        """The offset of the salvage topic up to which records were replayed so far."""
        return max((mark.end for mark in self.marks), default=0)
