"""Topics of one cluster in the answers of the other. Pure.

Promoted topics are put into the source's answers, with their leaders on the target, and where
clients know the target alone, topics that went back into the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.metadata import MetadataResponse

from towpath.cluster.metadata import TopicInfo
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Routes
from towpath.model.nouns import TopicName

_NO_LEADER, _FORBIDDEN = 5, 29
"""Kafka's codes LEADER_NOT_AVAILABLE, for which clients ask again, and TOPIC_AUTHORIZATION_FAILED:
whoever may not see a topic at the source hears nothing of it."""


class MetadataMerging:
    """Adds promoted topics and the target's brokers to answers of the source.

    Args:
        routes: What is promoted.
        nodes: The target's brokers.
    """

    def __init__(self, routes: Routes, nodes: RelayedNodes) -> None:
        self._routes, self._nodes = routes, nodes

    def metadata(self, answer: Any) -> None:
        """Add promoted topics and target brokers to an answer to Metadata."""
        routes = self._routes
        if not self._shows_target:
            return
        _add_brokers(answer, self._nodes)
        for topic in answer.topics:
            name = topic.name if topic.name is not None else routes.name_of(topic.topic_id)
            if name in routes.topics and topic.error_code != _FORBIDDEN:
                self._topic(topic, name)

    def cluster(self, answer: Any) -> None:
        """Add the target's brokers to an answer to DescribeCluster."""
        if self._shows_target:
            _add_described(answer, self._nodes)

    @property
    def _shows_target(self) -> bool:
        """Whether clients know the target's brokers, also after a way back (`SourceBrokers`)."""
        return bool(self._routes.topics or self._routes.transactions.known)

    def _topic(self, topic: Any, name: str) -> None:
        view = self._routes.view
        info = view.topics.get(TopicName(name)) if view is not None else None
        topic.name = name
        if info is None or not info.partitions:
            topic.error_code, topic.partitions = _NO_LEADER, []
            return
        topic.error_code = 0
        topic.topic_id = next(
            (each for each, of in self._routes.source_ids.items() if of == name), topic.topic_id
        )
        topic.partitions = [*_partitions(info)]


class SourceBrokers:
    """Adds the source's brokers, and topics that went back there, to answers of the target.

    A client to which a broker is not named any more closes its connection, and may wait for ever
    for an answer about a group whose coordinator it was (librdkafka 2.16).

    Args:
        routes: What went back where clients read from the target.
        nodes: The source's brokers.
    """

    def __init__(self, routes: Routes, nodes: RelayedNodes) -> None:
        self._routes, self._nodes = routes, nodes

    def metadata(self, answer: Any) -> None:
        """Add brokers and topics to an answer to Metadata."""
        _add_brokers(answer, self._nodes)
        mirror = self._routes.mirror
        if mirror is None or not mirror.returned:
            return
        by_id = {each: name for name, each in mirror.returned.items()}
        for topic in answer.topics:
            name = topic.name if topic.name is not None else by_id.get(topic.topic_id, "")
            if name in mirror.returned and topic.error_code != _FORBIDDEN:
                self._returned(topic, name, mirror)

    def _returned(self, topic: Any, name: str, mirror: MirrorReads) -> None:
        info = mirror.view.topics.get(TopicName(name)) if mirror.view is not None else None
        topic.name, topic.topic_id = name, mirror.returned[name]
        found = info is not None and bool(info.partitions)
        topic.error_code = 0 if found else _NO_LEADER
        topic.partitions = [*_partitions(info, self._nodes.shown)] if found and info else []

    def cluster(self, answer: Any) -> None:
        """Add the brokers to an answer to DescribeCluster."""
        _add_described(answer, self._nodes)


def _add_brokers(answer: Any, nodes: RelayedNodes) -> None:
    kind = MetadataResponse.MetadataResponseBroker
    answer.brokers = [
        *answer.brokers,
        *(
            kind(
                node_id=nodes.shown(number),
                host=node.shown[0],
                port=node.shown[1],
                rack=node.rack,
            )
            for number, node in nodes
        ),
    ]


def _add_described(answer: Any, nodes: RelayedNodes) -> None:
    kind = DescribeClusterResponse.DescribeClusterBroker
    answer.brokers = [
        *answer.brokers,
        *(
            kind(
                broker_id=nodes.shown(number),
                host=node.shown[0],
                port=node.shown[1],
                rack=node.rack,
            )
            for number, node in nodes
        ),
    ]


def _partitions(info: TopicInfo, shown: Callable[[int], int] = lambda number: number) -> list[Any]:
    kind = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition
    return [
        kind(
            error_code=0 if each.leader >= 0 else _NO_LEADER,
            partition_index=each.partition,
            leader_id=shown(each.leader) if each.leader >= 0 else -1,
            leader_epoch=-1,
            replica_nodes=[*map(shown, each.replicas)],
            isr_nodes=[*map(shown, each.in_sync)],
            offline_replicas=[],
        )
        for each in info.partitions
    ]
