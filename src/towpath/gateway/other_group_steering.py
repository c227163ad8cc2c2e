"""Routing of heartbeats of share groups and Streams groups while topics move.

These groups do not move (`PROMOTE_GROUP_KIND`). New ones begin where the groups of consumers do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from towpath.cluster.messages import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from towpath.gateway.apis import Api
from towpath.gateway.coordinator_answers import NOT_COORDINATOR
from towpath.gateway.frames import Head
from towpath.gateway.request_sending import Handler, RelayedClient, RequestSending, of_cluster
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.steering_answers import LOADING, framed

_SOON = 200
"""Milliseconds after which a member asks again."""


class OtherGroupSteering:
    """Routes heartbeats of groups that are not of consumers.

    Args:
        send: Sends requests on.
        routes: What is held and promoted.

    Attributes:
        handlers: What decodes a request and what handles it, by its API key.
    """

    def __init__(self, send: RequestSending, routes: Routes) -> None:
        self._send, self._routes = send, routes
        share = partial(self._beat, share_refused, _shared)
        streams = partial(self._beat, streams_refused, _streamed)
        self.handlers: Mapping[int, tuple[Any, Handler]] = {
            Api.SHARE_GROUP_HEARTBEAT: (ShareGroupHeartbeatRequest, share),
            Api.STREAMS_GROUP_HEARTBEAT: (StreamsGroupHeartbeatRequest, streams),
        }

    def _beat(
        self,
        refused: Callable[[Any, Head, int], bytes],
        topics_of: Callable[[Any], Collection[str]],
        asked: Any,
        frame: bytearray,
        head: Head,
        client: RelayedClient,
    ) -> RequestStep:
        routes, group = self._routes, asked.group_id
        if asked.member_epoch == 0:
            if routes.awaits(group):
                return RequestStep(own=refused(asked, head, LOADING))
            if routes.begins_at_source(group, topics_of(asked)):
                return RequestStep(own=refused(asked, head, NOT_COORDINATOR))
        cluster = Cluster.TARGET if routes.moves(group) else Cluster.SOURCE
        return self._send.to(of_cluster(cluster, client.home), frame, head)


def _shared(asked: Any) -> Collection[str]:
    return asked.subscribed_topic_names or ()


def _streamed(asked: Any) -> Collection[str]:
    parts = asked.topology.subtopologies if asked.topology is not None else ()
    return {name for part in parts for name in part.source_topics}


def share_refused(asked: Any, head: Head, code: int) -> bytes:
    """Answer the heartbeat of a share group's member with a code."""
    made = ShareGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=code,
        error_message=None,
        member_id=asked.member_id,
        member_epoch=0,
        heartbeat_interval_ms=_SOON,
        assignment=None,
    )
    return framed(made, head)


def streams_refused(asked: Any, head: Head, code: int) -> bytes:
    """Answer the heartbeat of a Streams group's member with a code."""
    made = StreamsGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=code,
        error_message=None,
        member_id=asked.member_id,
        member_epoch=0,
        heartbeat_interval_ms=_SOON,
        acceptable_recovery_lag=0,
        task_offset_interval_ms=_SOON,
        status=None,
        active_tasks=None,
        standby_tasks=None,
        warmup_tasks=None,
        endpoint_information_epoch=0,
        partitions_by_user_endpoint=None,
    )
    return framed(made, head)
