"""Answers that refuse requests of groups, such as where their coordinator is not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.consumer import (
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)

from towpath.gateway.apis import Api
from towpath.gateway.frames import Head
from towpath.gateway.steering_answers import beat_refused, framed

NOT_COORDINATOR = 16
"""Kafka's code that makes clients look for the coordinator, without telling their application."""
_SEVERAL_GROUPS, _GROUP_ERRORS, _NULL_NAMES = 8, 2, 7


def _joined(asked: Any, head: Head, code: int) -> bytes:
    made = JoinGroupResponse(
        throttle_time_ms=0,
        error_code=code,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None if head.version >= _NULL_NAMES else "",
        leader="",
        skip_assignment=False,
        member_id=asked.member_id,
        members=[],
    )
    return framed(made, head)


def _synced(asked: Any, head: Head, code: int) -> bytes:
    del asked
    made = SyncGroupResponse(
        throttle_time_ms=0,
        error_code=code,
        protocol_type=None,
        protocol_name=None,
        assignment=b"",
    )
    return framed(made, head)


def _beaten(asked: Any, head: Head, code: int) -> bytes:
    del asked
    return framed(HeartbeatResponse(throttle_time_ms=0, error_code=code), head)


def _left(asked: Any, head: Head, code: int) -> bytes:
    del asked
    made = LeaveGroupResponse(throttle_time_ms=0, error_code=code, members=[])
    return framed(made, head)


def _committed(asked: Any, head: Head, code: int) -> bytes:
    topic_kind = OffsetCommitResponse.OffsetCommitResponseTopic
    kind = topic_kind.OffsetCommitResponsePartition
    topics = [
        topic_kind(
            name=topic.name,
            partitions=[
                kind(partition_index=each.partition_index, error_code=code)
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
    return framed(OffsetCommitResponse(throttle_time_ms=0, topics=topics), head)


def _fetched(asked: Any, head: Head, code: int) -> bytes:
    made = OffsetFetchResponse(throttle_time_ms=0, error_code=code, topics=[], groups=[])
    if head.version >= _SEVERAL_GROUPS:
        kind = OffsetFetchResponse.OffsetFetchResponseGroup
        made.groups = [
            kind(group_id=each.group_id, topics=[], error_code=code) for each in asked.groups
        ]
    elif head.version < _GROUP_ERRORS:
        made.topics = [_not_fetched(each, code) for each in asked.topics or ()]
    return framed(made, head)


def _not_fetched(topic: Any, code: int) -> Any:
    topic_kind = OffsetFetchResponse.OffsetFetchResponseTopic
    kind = topic_kind.OffsetFetchResponsePartition
    partitions = [
        kind(
            partition_index=number,
            committed_offset=-1,
            metadata="",
            error_code=code,
        )
        for number in topic.partition_indexes
    ]
    return topic_kind(name=topic.name, partitions=partitions)


def _deleted(asked: Any, head: Head, code: int) -> bytes:
    del asked
    made = OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=[])
    return framed(made, head)


def _beat(asked: Any, head: Head, code: int) -> bytes:
    return beat_refused(head, asked.member_id, code)


def _not_here(refusal: Callable[[Any, Head, int], bytes], asked: Any, head: Head) -> bytes:
    return refusal(asked, head, NOT_COORDINATOR)


REFUSALS: Mapping[int, Callable[[Any, Head, int], bytes]] = {
    Api.JOIN_GROUP: _joined,
    Api.SYNC_GROUP: _synced,
    Api.HEARTBEAT: _beaten,
    Api.LEAVE_GROUP: _left,
    Api.OFFSET_COMMIT: _committed,
    Api.OFFSET_FETCH: _fetched,
    Api.OFFSET_DELETE: _deleted,
    Api.CONSUMER_GROUP_HEARTBEAT: _beat,
}
"""What answers a decoded request of a group with a code, by its API key."""
NOT_HERE: Mapping[int, Callable[[Any, Head], bytes]] = {
    key: partial(_not_here, refusal) for key, refusal in REFUSALS.items()
}
"""The same with NOT_COORDINATOR."""
