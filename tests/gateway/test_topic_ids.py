"""Clients know a topic by one id, before and after it moved."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka.protocol.admin import DeleteTopicsRequest, DeleteTopicsResponse
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from tests.support.clients.promoted_routes import SOURCE_ID, TARGET_ID, framed, promoted
from tests.support.clients.steered import TargetClient, step
from tests.support.messages.groups import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from towpath.cluster.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ShareGroupHeartbeatResponse,
)
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.metadata_merging import MetadataMerging
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Routes
from towpath.gateway.topic_ids import TopicIds
from towpath.model.nouns import ClusterId

OTHER = UUID(int=77)


def relayed(message: Any, version: int) -> Any:
    """Return the request that a broker of the target gets of a client."""
    found = step(promoted(), message, version, TargetClient())
    assert found is not None
    (sent,) = found.sends
    return type(message).decode(memoryview(bytes(sent.frame))[4:], version=version, header=True)


def told(message: Any, version: int, key: int, routes: Routes | None = None) -> Any:
    """Return what a client is told of an answer of the target."""
    nodes = RelayedNodes("h", 1, {}, lambda *_: None, shift=0)
    ids = (routes or promoted()).ids
    change = AnswerChanges(nodes, ClusterId("c"), ids=ids.shown).change_of(key)
    assert change is not None
    frame = bytes(change(framed(message, version), version))
    return type(message).decode(memoryview(frame)[4:], version=version, header=True)


def fetched(*ids: UUID) -> Any:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        partition=0,
        fetch_offset=5,
        partition_max_bytes=1,
        current_leader_epoch=-1,
        last_fetched_epoch=-1,
        log_start_offset=-1,
    )
    return FetchRequest(
        cluster_id=None,
        replica_id=-1,
        max_wait_ms=1,
        min_bytes=1,
        max_bytes=1,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[topic(topic_id=each, partitions=[partition]) for each in ids],
        forgotten_topics_data=[
            FetchRequest.ForgottenTopic(topic_id=each, partitions=[0, 1]) for each in ids
        ],
        rack_id="r",
    )


def test_the_target_is_asked_for_records_by_its_own_ids() -> None:
    for version in (13, 15):
        asked = relayed(fetched(SOURCE_ID, OTHER), version)
        assert [each.topic_id for each in asked.topics] == [TARGET_ID, OTHER]
        assert [each.topic_id for each in asked.forgotten_topics_data] == [TARGET_ID, OTHER]
        assert asked.rack_id == "r"
        topic = FetchResponse.FetchableTopicResponse
        answer = FetchResponse(
            throttle_time_ms=0,
            error_code=0,
            session_id=0,
            responses=[topic(topic_id=each, partitions=[]) for each in (TARGET_ID, OTHER)],
        )
        found = told(answer, version, Api.FETCH)
        assert [each.topic_id for each in found.responses] == [SOURCE_ID, OTHER]


def test_metadata_names_a_topic_by_the_id_that_it_had() -> None:
    kind = MetadataRequest.MetadataRequestTopic
    message = MetadataRequest(
        topics=[kind(name=None, topic_id=SOURCE_ID)], allow_auto_topic_creation=False
    )
    assert [each.topic_id for each in relayed(message, 12).topics] == [TARGET_ID]
    for name, topic_id in (("moved", TARGET_ID), ("moved", SOURCE_ID)):
        made = MetadataResponse.MetadataResponseTopic(
            error_code=0, name=name, topic_id=topic_id, is_internal=False, partitions=[]
        )
        answer = MetadataResponse(
            throttle_time_ms=0, brokers=[], cluster_id="c", controller_id=-1, topics=[made]
        )
        (topic,) = told(answer, 12, Api.METADATA).topics
        assert topic.topic_id == SOURCE_ID
        routes = promoted()
        MetadataMerging(routes, RelayedNodes("h", 1, {}, lambda *_: None, shift=0)).metadata(answer)
        assert answer.topics[0].topic_id == SOURCE_ID, "also where the source answers"


def test_members_own_and_are_given_partitions_by_that_id() -> None:
    kind = ConsumerGroupHeartbeatRequest.TopicPartitions
    asked = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=3,
        instance_id=None,
        rack_id=None,
        rebalance_timeout_ms=-1,
        subscribed_topic_names=None,
        subscribed_topic_regex=None,
        server_assignor=None,
        topic_partitions=[kind(topic_id=SOURCE_ID, partitions=[0])],
    )
    assert [each.topic_id for each in relayed(asked, 1).topic_partitions] == [TARGET_ID]
    for message, key, version in (
        (ConsumerGroupHeartbeatResponse, Api.CONSUMER_GROUP_HEARTBEAT, 1),
        (ShareGroupHeartbeatResponse, Api.SHARE_GROUP_HEARTBEAT, 1),
    ):
        place = message.Assignment.TopicPartitions(topic_id=TARGET_ID, partitions=[0])
        answer = message(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            member_id="m",
            member_epoch=3,
            heartbeat_interval_ms=1,
            assignment=message.Assignment(topic_partitions=[place]),
        )
        (found,) = told(answer, version, key).assignment.topic_partitions
        assert found.topic_id == SOURCE_ID


def test_topics_are_deleted_by_that_id() -> None:
    kind = DeleteTopicsRequest.DeleteTopicState
    asked = DeleteTopicsRequest(topics=[kind(name=None, topic_id=SOURCE_ID)], timeout_ms=1)
    assert [each.topic_id for each in relayed(asked, 6).topics] == [TARGET_ID]
    result = DeleteTopicsResponse.DeletableTopicResult(
        name="moved", topic_id=TARGET_ID, error_code=0, error_message=None
    )
    found = told(DeleteTopicsResponse(throttle_time_ms=0, responses=[result]), 6, Api.DELETE_TOPICS)
    assert [each.topic_id for each in found.responses] == [SOURCE_ID]


def test_members_of_share_groups_fetch_and_acknowledge_by_that_id() -> None:
    who = {"group_id": "s", "member_id": "m", "share_session_epoch": 4}
    for version in (1, 2):
        topic = ShareFetchRequest.FetchTopic
        acknowledged = topic.FetchPartition.AcknowledgementBatch(
            first_offset=1, last_offset=9, acknowledge_types=[1, 2, 3]
        )
        places = [
            topic.FetchPartition(partition_index=0, acknowledgement_batches=[acknowledged] * 2)
        ]
        asked = ShareFetchRequest(
            **who,
            max_wait_ms=1,
            min_bytes=1,
            max_bytes=1,
            max_records=1,
            batch_size=1,
            share_acquire_mode=0,
            is_renew_ack=False,
            topics=[topic(topic_id=SOURCE_ID, partitions=places)],
            forgotten_topics_data=[
                ShareFetchRequest.ForgottenTopic(topic_id=SOURCE_ID, partitions=[1])
            ],
        )
        sent = relayed(asked, version)
        assert sent.topics[0].topic_id == sent.forgotten_topics_data[0].topic_id == TARGET_ID
        assert sent.topics[0].partitions == places
        of = ShareAcknowledgeRequest.AcknowledgeTopic
        asked = ShareAcknowledgeRequest(
            **who, is_renew_ack=False, topics=[of(topic_id=SOURCE_ID, partitions=[])]
        )
        assert relayed(asked, version).topics[0].topic_id == TARGET_ID
        for message, kind, key in (
            (ShareFetchResponse, "ShareFetchableTopicResponse", Api.SHARE_FETCH),
            (ShareAcknowledgeResponse, "ShareAcknowledgeTopicResponse", Api.SHARE_ACKNOWLEDGE),
        ):
            answer = message(
                throttle_time_ms=0,
                error_code=0,
                error_message=None,
                acquisition_lock_timeout_ms=1,
                responses=[getattr(message, kind)(topic_id=TARGET_ID, partitions=[])],
                node_endpoints=[],
            )
            assert told(answer, version, key).responses[0].topic_id == SOURCE_ID


def test_ids_are_those_of_the_source_again_once_a_topic_went_back() -> None:
    ids = TopicIds()
    ids.add(SOURCE_ID, TARGET_ID)
    ids.remove(SOURCE_ID, TARGET_ID)
    assert ids.own == ids.shown == {}
