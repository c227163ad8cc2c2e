"""Answers that the gateway gives in a broker's place while topics move. Pure.

The codes are those that clients take without telling their application: NOT_LEADER_OR_FOLLOWER
makes them look where a partition is, REBALANCE_IN_PROGRESS makes a member commit and join again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.consumer import (
    FetchResponse,
    JoinGroupResponse,
    ListOffsetsResponse,
    SyncGroupResponse,
)
from kafka.protocol.metadata import FindCoordinatorResponse

from towpath.cluster.messages import ConsumerGroupHeartbeatResponse
from towpath.gateway.frames import Head
from towpath.gateway.joining_members import Nothing

UNKNOWN_TOPIC = 3
NOT_LEADER = 6
LOADING = 14
NO_COORDINATOR = 15
REBALANCING = 27
DUPLICATE_SEQUENCE = 46
OLD_EPOCH = 47
NO_FETCH_SESSION = 70
FENCED_EPOCH = 110
_WITH_IDS = 13
_SOON = 200
"""Milliseconds after which a member of KIP-848 asks again whether it may go on."""


def framed(answer: Any, head: Head) -> bytes:
    """Return the frame of an answer to a request."""
    answer.API_VERSION = head.version
    answer.with_header(correlation_id=head.correlation)
    return bytes(answer.encode(header=True, framed=True))


def elsewhere(asked: Any, head: Head) -> bytes:
    """Answer a Fetch with NOT_LEADER_OR_FOLLOWER, as its partitions have moved."""
    topic_kind = FetchResponse.FetchableTopicResponse
    topics = []
    for topic in asked.topics:
        name = {"topic_id": topic.topic_id} if head.version >= _WITH_IDS else {"topic": topic.topic}
        rows = [
            topic_kind.PartitionData(
                partition_index=each.partition,
                error_code=NOT_LEADER,
                high_watermark=-1,
                last_stable_offset=-1,
                log_start_offset=-1,
                aborted_transactions=None,
                preferred_read_replica=-1,
                records=b"",
            )
            for each in topic.partitions
        ]
        topics.append(topic_kind(partitions=rows, **name))
    made = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics)
    return framed(made, head)


def no_session(head: Head) -> bytes:
    """Answer a Fetch within a session so that the client names all partitions again."""
    made = FetchResponse(
        throttle_time_ms=0, error_code=NO_FETCH_SESSION, session_id=0, responses=[]
    )
    return framed(made, head)


def offsets_elsewhere(asked: Any, head: Head) -> bytes:
    """Answer a ListOffsets with NOT_LEADER_OR_FOLLOWER, as its partitions have moved."""
    topic_kind = ListOffsetsResponse.ListOffsetsTopicResponse
    made = ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            topic_kind(
                name=topic.name,
                partitions=[
                    topic_kind.ListOffsetsPartitionResponse(
                        partition_index=each.partition_index,
                        error_code=NOT_LEADER,
                        old_style_offsets=[],
                        timestamp=-1,
                        offset=-1,
                        leader_epoch=-1,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )
    return framed(made, head)


def no_coordinator(keys: Sequence[str], head: Head) -> bytes:
    """Answer a FindCoordinator for a cluster that is away so that clients retry."""
    made = FindCoordinatorResponse(
        throttle_time_ms=0,
        error_code=NO_COORDINATOR,
        error_message=None,
        node_id=-1,
        host="",
        port=-1,
        coordinators=[
            FindCoordinatorResponse.Coordinator(
                key=key,
                node_id=-1,
                host="",
                port=-1,
                error_code=NO_COORDINATOR,
                error_message=None,
            )
            for key in keys
        ],
    )
    return framed(made, head)


def rebalances(answer: Any) -> None:
    """Change the answer to a Heartbeat so that the member commits and joins again."""
    answer.error_code = answer.error_code or REBALANCING


def joined(head: Head, member: str, generation: int, nothing: Nothing) -> bytes:
    """Answer a JoinGroup so that the member asks in its own generation what it has."""
    made = JoinGroupResponse(
        throttle_time_ms=0,
        error_code=0,
        generation_id=generation,
        protocol_type="consumer",
        protocol_name=nothing.assignor,
        leader="",
        skip_assignment=False,
        member_id=member,
        members=[],
    )
    return framed(made, head)


def _synced(head: Head, code: int, nothing: Nothing | None) -> bytes:
    made = SyncGroupResponse(
        throttle_time_ms=0,
        error_code=code,
        protocol_type="consumer" if nothing else None,
        protocol_name=nothing.assignor if nothing else None,
        assignment=nothing.assignment if nothing else b"",
    )
    return framed(made, head)


def synced_with_nothing(head: Head, nothing: Nothing) -> bytes:
    """Answer a SyncGroup so that the member gives back what it has, and joins again."""
    return _synced(head, 0, nothing)


def not_synced(head: Head) -> bytes:
    """Answer a SyncGroup so that the member joins again."""
    return _synced(head, REBALANCING, None)


def _beat(head: Head, member: str, epoch: int, code: int) -> bytes:
    made = ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=code,
        error_message=None,
        member_id=member,
        member_epoch=epoch,
        heartbeat_interval_ms=_SOON,
        assignment=None,
    )
    return framed(made, head)


def beat_left(head: Head, member: str, epoch: int) -> bytes:
    """Answer a KIP-848 heartbeat of a member that leaves: it was no member anywhere."""
    return _beat(head, member, epoch, 0)


def beat_refused(head: Head, member: str, code: int) -> bytes:
    """Answer a KIP-848 heartbeat with an error."""
    return _beat(head, member, 0, code)
