"""Disks of brokers: size of partitions, and free space."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import DescribeLogDirsRequest

from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

_OFFLINE = 56
"""KAFKA_STORAGE_ERROR: a disk that failed; the broker goes on without it."""


@dataclass(frozen=True, slots=True)
class Disks:
    """The disks of all brokers together.

    Attributes:
        free: Bytes that are free; `None` where a broker does not tell (before Kafka 3.3).
        replicas: The bytes of each replica, by partition and broker id.
    """

    free: int | None
    replicas: Mapping[TopicPartition, Mapping[int, int]] = field(default_factory=dict)

    def size(self, tp: TopicPartition, leader: int = -1) -> int | None:
        """Return the bytes of the leader, or else of the largest replica; `None` if unknown."""
        sizes = self.replicas.get(tp, {})
        return sizes.get(leader, max(sizes.values(), default=None))


class DiskAdmin:
    """Queries about the disks of brokers."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self, topics: Mapping[TopicName, int]) -> Disks:
        """Return the free bytes, and the size of these topics (KIP-113, KIP-827).

        Args:
            topics: How many partitions each of them has.
        """
        return self._control.retried(lambda deadline: self._describe(topics, deadline))

    def offline(self, deadline: Deadline) -> Mapping[int, tuple[str, ...]]:
        """Return the log directories that brokers have lost, by broker id (KIP-113).

        Raises:
            ClusterError: A broker did not tell.
        """
        return self._control.retried(self._offline, deadline)

    def _offline(self, deadline: Deadline) -> Mapping[int, tuple[str, ...]]:
        lost: dict[int, tuple[str, ...]] = {}
        for broker, folder in self._folders({}, deadline):
            if folder.error_code:
                lost[broker] = (*lost.get(broker, ()), folder.log_dir)
        return lost

    def _describe(self, topics: Mapping[TopicName, int], deadline: Deadline) -> Disks:
        free: list[int] = []
        replicas: dict[TopicPartition, dict[int, int]] = defaultdict(dict)
        for broker, folder in self._folders(topics, deadline):
            if folder.error_code:
                continue
            free.append(folder.usable_bytes)
            for tp, size in _sizes(folder):
                replicas[tp][broker] = size
        known = bool(free) and min(free) >= 0
        return Disks(sum(free) if known else None, dict(replicas))

    def _folders(
        self, topics: Mapping[TopicName, int], deadline: Deadline
    ) -> Iterator[tuple[int, Any]]:
        """Yield each folder, also one that is offline, with its broker's id.

        The sums would be wrong without one broker.
        """
        what = "asking for the disks"
        for broker in self._control.metadata(deadline).brokers.values():
            answer = self._control.ask(broker, _request(topics), deadline, what)
            for said in (answer, *answer.results):
                if said.error_code not in {0, _OFFLINE}:
                    raise refused(
                        self._control.side, what, said.error_code, acl="Describe on the cluster"
                    )
            yield from ((broker.id, each) for each in answer.results)


def _request(topics: Mapping[TopicName, int]) -> DescribeLogDirsRequest:
    kind = DescribeLogDirsRequest.DescribableLogDirTopic
    return DescribeLogDirsRequest(
        topics=[kind(topic=name, partitions=list(range(count))) for name, count in topics.items()]
    )


def _sizes(folder: Any) -> Iterable[tuple[TopicPartition, int]]:
    for topic in folder.topics:
        for each in topic.partitions:
            if not each.is_future_key:
                tp = TopicPartition(TopicName(topic.name), each.partition_index)
                yield tp, each.partition_size
