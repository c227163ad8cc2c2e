"""Assignments of replicas to partitions (KIP-455)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.protocol.admin import AlterPartitionReassignmentsRequest

from towpath.cluster.admin.changes import check, refusal, tell_controller
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition

_ACL = "Alter on the cluster"


class ReplicaAdmin:
    """Changes the assignment of partitions to brokers."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def assign(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> Answers[TopicPartition, None]:
        """Assign partitions to brokers, which replaces a running reassignment.

        Args:
            replicas: The ids of the brokers, the preferred leader first.

        Raises:
            ClusterError: The cluster cannot be asked, or refuses all of it.
        """
        what = f"assigning the replicas of {len(replicas)} partitions"
        side, request = self._control.side, _request(replicas, self._control.timeout_ms)
        answer = tell_controller(self._control, what, request, lambda said: said)
        check(side, answer, what, _ACL)
        failed: dict[TopicPartition, ClusterError] = {}
        for topic in answer.responses:
            for said in topic.partitions:
                if said.error_code:
                    tp = TopicPartition(TopicName(topic.name), said.partition_index)
                    failed[tp] = refusal(side, said, f"assigning the replicas of {tp}", _ACL)
        return Answers(dict.fromkeys(tp for tp in replicas if tp not in failed), failed)


def _request(replicas: Mapping[TopicPartition, Sequence[int]], timeout_ms: int) -> Any:
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics: dict[TopicName, list[Any]] = defaultdict(list)
    for tp, brokers in replicas.items():
        made = kind.ReassignablePartition(partition_index=tp.partition, replicas=[*brokers])
        topics[tp.topic].append(made)
    return AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        topics=[kind(name=name, partitions=made) for name, made in topics.items()],
    )
