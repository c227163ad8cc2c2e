"""What differs between the heartbeats of consumers, share consumers and Streams applications.

All three protocols have a member id, an epoch and an assignment (KIP-848, KIP-932, KIP-1071). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from towpath.cluster.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from towpath.gateway.apis import Api
from towpath.gateway.frames import Head
from towpath.gateway.steering_answers import beat_refused, framed

_SOON = 200
"""Milliseconds after which a member asks again."""
_RECOVERY_LAG, _TASK_OFFSETS = 10_000, 60_000
"""What brokers tell Streams applications by default of tasks that warm up; there are none here."""


@dataclass(frozen=True, slots=True)
class HeartbeatForm:
    """Reads and answers the heartbeats of one protocol.

    Attributes:
        request: The message; `response`, the answer to it.
        refused: Answers a heartbeat with a code.
        empties: Changes a coordinator's answer: the member has no partitions or tasks.
        owned: Returns what a member says it has, `None` where that is as before.
        topics: Returns the topics that a member tells when it joins.
    """

    request: Any
    response: Any
    refused: Callable[[Any, Head, int], bytes]
    empties: Callable[[Any], None]
    owned: Callable[[Any], Collection[object] | None]
    topics: Callable[[Any], Collection[str]]

    def emptied(self, answer: Any) -> None:
        """Change a coordinator's answer so that the member gives back what it has.

        The epoch stays what the coordinator says: the member commits with it.
        """
        if not answer.error_code:
            answer.heartbeat_interval_ms = _SOON
            self.empties(answer)


def _consumer_refused(asked: Any, head: Head, code: int) -> bytes:
    return beat_refused(head, asked.member_id, code)


def _consumer_emptied(answer: Any) -> None:
    answer.assignment = ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[])


def _subscribed(asked: Any) -> Collection[str]:
    return asked.subscribed_topic_names or ()


def _told(asked: Any, code: int) -> Mapping[str, Any]:
    """Return what share groups and Streams groups are told alike."""
    return {
        "throttle_time_ms": 0,
        "error_code": code,
        "error_message": None,
        "member_id": asked.member_id,
        "member_epoch": 0,
        "heartbeat_interval_ms": _SOON,
    }


def _share_refused(asked: Any, head: Head, code: int) -> bytes:
    return framed(ShareGroupHeartbeatResponse(**_told(asked, code), assignment=None), head)


def _share_emptied(answer: Any) -> None:
    answer.assignment = ShareGroupHeartbeatResponse.Assignment(topic_partitions=[])


def _streams_refused(asked: Any, head: Head, code: int) -> bytes:
    made = StreamsGroupHeartbeatResponse(
        **_told(asked, code),
        acceptable_recovery_lag=_RECOVERY_LAG,
        task_offset_interval_ms=_TASK_OFFSETS,
        status=None,
        active_tasks=None,
        standby_tasks=None,
        warmup_tasks=None,
        endpoint_information_epoch=asked.endpoint_information_epoch,
        partitions_by_user_endpoint=None,
    )
    return framed(made, head)


def _streams_emptied(answer: Any) -> None:
    answer.active_tasks, answer.standby_tasks, answer.warmup_tasks = [], [], []


def _tasks(asked: Any) -> Collection[object] | None:
    if asked.active_tasks is None:
        return None
    return [*asked.active_tasks, *(asked.standby_tasks or ()), *(asked.warmup_tasks or ())]


def _source_topics(asked: Any) -> Collection[str]:
    parts = asked.topology.subtopologies if asked.topology is not None else ()
    return {name for part in parts for name in part.source_topics}


FORMS: Mapping[int, HeartbeatForm] = {
    Api.CONSUMER_GROUP_HEARTBEAT: HeartbeatForm(
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
        _consumer_refused,
        _consumer_emptied,
        lambda asked: asked.topic_partitions,
        _subscribed,
    ),
    Api.SHARE_GROUP_HEARTBEAT: HeartbeatForm(
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
        _share_refused,
        _share_emptied,
        lambda _: None,
        _subscribed,
    ),
    Api.STREAMS_GROUP_HEARTBEAT: HeartbeatForm(
        StreamsGroupHeartbeatRequest,
        StreamsGroupHeartbeatResponse,
        _streams_refused,
        _streams_emptied,
        _tasks,
        _source_topics,
    ),
}
"""The form of each heartbeat, by its API key."""
