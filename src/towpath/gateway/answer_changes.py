"""Changes of brokers' answers for clients: the gateway's addresses, one cluster id, no epochs.

Everything that carries an address, an id of a broker, or a leader epoch is decoded and changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from kafka.protocol.admin import (
    DeleteTopicsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
)
from kafka.protocol.admin import IncrementalAlterConfigsResponse as AlteredResponse
from kafka.protocol.consumer import ListOffsetsResponse, OffsetFetchResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from towpath.cluster.messages import (
    ConsumerGroupHeartbeatResponse,
    DescribeShareGroupOffsetsResponse,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponse,
)
from towpath.cluster.metadata import Broker
from towpath.gateway.apis import Api
from towpath.gateway.fetch_answers import Ahead, FetchChange
from towpath.gateway.recoding import Change, recoded
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.share_answers import without_leaders
from towpath.gateway.topic_ids import Ids, exchange
from towpath.model.nouns import ClusterId

NO_EPOCH = -1
AWAY, UNKNOWN_MEMBER, NO_GROUP = 15, 25, 69
"""Kafka's codes COORDINATOR_NOT_AVAILABLE, UNKNOWN_MEMBER_ID and GROUP_ID_NOT_FOUND."""
NO_LEADER = 5
"""Kafka's code LEADER_NOT_AVAILABLE: clients ask again."""
BROKER = 4
"""The type of a broker among the resources that have configs."""


class Merging(Protocol):
    """Protocol of what puts things of the other cluster into answers of one."""

    def metadata(self, answer: Any) -> None:
        """Add to an answer to Metadata."""

    def cluster(self, answer: Any) -> None:
        """Add to an answer to DescribeCluster."""


class AnswerChanges:
    """Changes the answers of one cluster's brokers before clients get them.

    Args:
        nodes: The cluster's brokers; those of answers are learnt.
        cluster: The cluster id that clients are told.
        merging: Puts into answers what the other cluster has, `None` for nothing.
        ids: The topic ids that clients know by those of the cluster, where they differ.
    """

    def __init__(
        self,
        nodes: RelayedNodes,
        cluster: ClusterId,
        merging: Merging | None = None,
        ids: Ids | None = None,
    ) -> None:
        self._nodes, self._cluster, self._merging = nodes, cluster, merging
        self._ids: Ids = {} if ids is None else ids
        decoded: dict[Api, tuple[Any, Callable[[Any], None]]] = {
            Api.METADATA: (MetadataResponse, self._metadata),
            Api.FIND_COORDINATOR: (FindCoordinatorResponse, self._coordinators),
            Api.DESCRIBE_CLUSTER: (DescribeClusterResponse, self._described),
            Api.LIST_OFFSETS: (ListOffsetsResponse, _listed),
            Api.OFFSET_FETCH: (OffsetFetchResponse, _committed),
            Api.DESCRIBE_CONFIGS: (DescribeConfigsResponse, self._configs),
            Api.INCREMENTAL_ALTER_CONFIGS: (AlteredResponse, self._configs),
            Api.CONSUMER_GROUP_HEARTBEAT: (ConsumerGroupHeartbeatResponse, self._beaten),
            Api.SHARE_GROUP_HEARTBEAT: (ShareGroupHeartbeatResponse, self._beaten),
            Api.STREAMS_GROUP_HEARTBEAT: (StreamsGroupHeartbeatResponse, _known),
            Api.DELETE_TOPICS: (DeleteTopicsResponse, self._deleted),
            Api.DESCRIBE_SHARE_GROUP_OFFSETS: (DescribeShareGroupOffsetsResponse, _shared),
        }
        self._changes: dict[int, Change] = {
            key: partial(recoded, message, change) for key, (message, change) in decoded.items()
        }
        self._changes[Api.FETCH] = FetchChange(nodes.shown, self._ids)
        for key in (Api.SHARE_FETCH, Api.SHARE_ACKNOWLEDGE):
            self._changes[key] = partial(without_leaders, key=key, ids=self._ids)

    def change_of(self, key: int) -> Change | None:
        """Return the function that changes the answers to a request, `None` for no change."""
        return self._changes.get(key)

    def fetched(self, ahead: Ahead) -> Change:
        """Return the function that changes the answer to a Fetch from mirror topics.

        Args:
            ahead: See `FetchChange`.
        """
        return FetchChange(self._nodes.shown, ahead=ahead)

    def direct(self, key: int) -> Change:
        """Return the function that changes Metadata or FindCoordinator for a client that leaves.

        It is shown the brokers' own addresses.
        """
        if key == Api.METADATA:
            return partial(recoded, MetadataResponse, self._direct_metadata)
        return partial(recoded, FindCoordinatorResponse, self._direct_coordinators)

    def away(self, keys: Iterable[str]) -> Change:
        """Return the function that adds keys of a cluster that is away to FindCoordinator's answer.

        Clients ask for these again, alone.
        """

        def change(answer: Any) -> None:
            self._coordinators(answer)
            kind = FindCoordinatorResponse.Coordinator
            answer.coordinators = [
                *answer.coordinators,
                *(
                    kind(key=key, node_id=-1, host="", port=-1, error_code=AWAY, error_message=None)
                    for key in keys
                ),
            ]

        return partial(recoded, FindCoordinatorResponse, change)

    def alone(self, named: Iterable[str] | None, promoted: Set[str]) -> Change:
        """Return the function that changes the target's Metadata while the source is away.

        Args:
            named: Other topics that the client asked for, which were left out; `None` where it
                asked for all.
            promoted: The topics that clients may see.
        """

        def change(answer: Any) -> None:
            self._metadata(answer)
            answer.topics = [topic for topic in answer.topics if topic.name in promoted]
            answer.topics += [_without_leader(name) for name in named or ()]

        return partial(recoded, MetadataResponse, change)

    def _metadata(self, answer: Any) -> None:
        self._renamed(answer)
        exchange(answer.topics, self._ids)
        if self._merging is not None:
            self._merging.metadata(answer)

    def _renamed(self, answer: Any) -> None:
        shown = self._nodes.shown
        _rename(answer.brokers, "node_id", self._learnt)
        answer.cluster_id = self._cluster
        answer.controller_id = shown(answer.controller_id)
        for topic in answer.topics:
            for each in topic.partitions:
                each.leader_id, each.leader_epoch = shown(each.leader_id), NO_EPOCH
                each.replica_nodes = [*map(shown, each.replica_nodes)]
                each.isr_nodes = [*map(shown, each.isr_nodes)]
                each.offline_replicas = [*map(shown, each.offline_replicas or ())]

    def _direct_metadata(self, answer: Any) -> None:
        self._renamed(answer)
        _rename(answer.brokers, "node_id", self._own)

    def _direct_coordinators(self, answer: Any) -> None:
        self._coordinators(answer)
        found = answer.coordinators or ([answer] if answer.node_id is not None else [])
        _rename([each for each in found if each.node_id >= 0], "node_id", self._own)

    def _own(self, number: int, host: str, port: int) -> tuple[int, tuple[str, int]]:
        return number, self._nodes.broker(number) or (host, port)

    def _described(self, answer: Any) -> None:
        _rename(answer.brokers, "broker_id", self._learnt)
        answer.cluster_id = self._cluster
        answer.controller_id = self._nodes.shown(answer.controller_id)
        if self._merging is not None:
            self._merging.cluster(answer)

    def _coordinators(self, answer: Any) -> None:
        found = answer.coordinators or ([answer] if answer.node_id is not None else [])
        _rename([each for each in found if each.node_id >= 0], "node_id", self._learnt)

    def _configs(self, answer: Any) -> None:
        for each in getattr(answer, "results", None) or getattr(answer, "responses", None) or ():
            if each.resource_type == BROKER and each.resource_name.isdigit():
                each.resource_name = str(self._nodes.shown(int(each.resource_name)))

    def _assigned(self, answer: Any) -> None:
        if answer.assignment is not None:
            exchange(answer.assignment.topic_partitions, self._ids)

    def _beaten(self, answer: Any) -> None:
        _known(answer)
        self._assigned(answer)

    def _deleted(self, answer: Any) -> None:
        exchange(answer.responses, self._ids)

    def _learnt(self, number: int, host: str, port: int) -> tuple[int, tuple[str, int]]:
        self._nodes.learn([Broker(number, host, port)])
        return self._nodes.shown(number), self._nodes.address(number)


def _known(answer: Any) -> None:
    """Let a member join anew whose group a cluster does not know; else it dies."""
    if answer.error_code == NO_GROUP:
        answer.error_code = UNKNOWN_MEMBER


def _without_leader(name: str) -> Any:
    return MetadataResponse.MetadataResponseTopic(
        error_code=NO_LEADER, name=name, topic_id=UUID(int=0), is_internal=False, partitions=[]
    )


def _rename(
    brokers: Iterable[Any],
    key: str,
    learnt: Callable[[int, str, int], tuple[int, tuple[str, int]]],
) -> None:
    for each in brokers:
        number, (each.host, each.port) = learnt(getattr(each, key), each.host, each.port)
        setattr(each, key, number)


def _listed(answer: Any) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            each.leader_epoch = NO_EPOCH


def _committed(answer: Any) -> None:
    for group in answer.groups or [answer]:
        for topic in group.topics or ():
            for each in topic.partitions:
                each.committed_leader_epoch = NO_EPOCH


def _shared(answer: Any) -> None:
    for group in answer.groups:
        for topic in group.topics:
            for each in topic.partitions:
                each.leader_epoch = NO_EPOCH
