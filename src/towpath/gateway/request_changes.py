"""Changes of clients' requests for brokers: the brokers' own node ids, and no leader epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest, OffsetCommitRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest, TxnOffsetCommitRequest

from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.gateway.answer_changes import BROKER, NO_EPOCH
from towpath.gateway.apis import Api
from towpath.gateway.fetch_requests import without_leader_epochs
from towpath.gateway.recoding import Change, decoded, recoded
from towpath.gateway.relayed_nodes import hidden
from towpath.gateway.share_requests import with_ids
from towpath.gateway.topic_ids import Ids, exchange


def initial(frame: bytes | bytearray, version: int) -> Any:
    """Decode an InitProducerId request.

    Raises:
        FrameError: It is no such request.
    """
    return decoded(InitProducerIdRequest, frame, version)


def _offsets(asked: Any) -> None:
    for topic in asked.topics:
        for each in topic.partitions:
            each.committed_leader_epoch = NO_EPOCH


def _places(asked: Any) -> None:
    for topic in asked.topics:
        for each in topic.partitions:
            each.current_leader_epoch = NO_EPOCH


def _topics(asked: Any) -> None:
    for topic in asked.topics:
        for each in topic.assignments or ():
            each.broker_ids = [*map(hidden, each.broker_ids)]


def _configs(asked: Any) -> None:
    for each in asked.resources:
        if each.resource_type == BROKER and each.resource_name.isdigit():
            each.resource_name = str(hidden(int(each.resource_name)))


_CHANGED: Iterable[tuple[Api, Any, Callable[[Any], None]]] = (
    (Api.LIST_OFFSETS, ListOffsetsRequest, _places),
    (Api.OFFSET_COMMIT, OffsetCommitRequest, _offsets),
    (Api.TXN_OFFSET_COMMIT, TxnOffsetCommitRequest, _offsets),
    (Api.CREATE_TOPICS, CreateTopicsRequest, _topics),
    (Api.CREATE_PARTITIONS, CreatePartitionsRequest, _topics),
    (Api.DESCRIBE_CONFIGS, DescribeConfigsRequest, _configs),
    (Api.INCREMENTAL_ALTER_CONFIGS, IncrementalAlterConfigsRequest, _configs),
)
CHANGES: dict[int, Change] = {
    Api.FETCH: without_leader_epochs,
    **{key: partial(recoded, message, change) for key, message, change in _CHANGED},
}
"""What changes a request, by its API key; others pass as they are."""


def _of_topics(asked: Any, ids: Ids) -> None:
    exchange(asked.topics, ids)


def _owned(asked: Any, ids: Ids) -> None:
    exchange(asked.topic_partitions, ids)


_WITH_IDS: Iterable[tuple[Api, int, Any, Callable[[Any, Ids], None]]] = (
    (Api.METADATA, 10, MetadataRequest, _of_topics),
    (Api.DELETE_TOPICS, 6, DeleteTopicsRequest, _of_topics),
    (Api.CONSUMER_GROUP_HEARTBEAT, 0, ConsumerGroupHeartbeatRequest, _owned),
)
"""Requests that have ids of topics from a version on."""


def exchanging(ids: Ids) -> dict[int, Change]:
    """Return what changes a request to a cluster whose topic ids clients do not know, by API key.

    Args:
        ids: The cluster's topic ids by those that clients know.
    """

    def decoding(
        since: int, message: Any, change_ids: Callable[[Any, Ids], None]
    ) -> Callable[[bytearray, int], bytes | bytearray]:
        def change(frame: bytearray, version: int) -> bytes | bytearray:
            if not ids or version < since:
                return frame
            return recoded(message, lambda asked: change_ids(asked, ids), frame, version)

        return change

    return {
        **CHANGES,
        Api.FETCH: partial(without_leader_epochs, ids=ids),
        **{key: decoding(since, message, of) for key, since, message, of in _WITH_IDS},
        **{
            key: partial(with_ids, key=key, ids=ids)
            for key in (Api.SHARE_FETCH, Api.SHARE_ACKNOWLEDGE)
        },
    }
