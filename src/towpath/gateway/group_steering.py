"""Routing of requests of classic groups, and of offsets of all groups, while topics move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.consumer import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

from towpath.gateway.apis import Api
from towpath.gateway.coordinator_answers import NOT_HERE
from towpath.gateway.frames import FrameError, Head
from towpath.gateway.joining_members import nothing_for, topics_of
from towpath.gateway.recoding import recoded
from towpath.gateway.request_sending import Handler, RelayedClient, RequestSending, of_cluster
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.steering_answers import (
    joined,
    not_synced,
    rebalances,
    synced_with_nothing,
)


class GroupSteering:
    """Routes requests of groups to a cluster, or answers them.

    Args:
        send: Sends requests on.
        routes: What is held and promoted.

    Attributes:
        handlers: What decodes a request and what handles it, by its API key.
    """

    def __init__(self, send: RequestSending, routes: Routes) -> None:
        self._send, self._routes = send, routes
        self.handlers: Mapping[int, tuple[Any, Handler]] = {
            Api.OFFSET_COMMIT: (OffsetCommitRequest, self._commit),
            Api.OFFSET_FETCH: (OffsetFetchRequest, self._of_group),
            Api.JOIN_GROUP: (JoinGroupRequest, self._join),
            Api.HEARTBEAT: (HeartbeatRequest, self._heartbeat),
            Api.LEAVE_GROUP: (LeaveGroupRequest, self._of_group),
            Api.SYNC_GROUP: (SyncGroupRequest, self._sync),
            Api.OFFSET_DELETE: (OffsetDeleteRequest, self._of_group),
        }

    def _of_group(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Relay what a member or a client asks of its group."""
        groups = {*_groups_of(asked)}
        moved = {group for group in groups if self._routes.moves(group)}
        if moved and moved != groups:
            raise FrameError(f"request {head.key} for groups of both clusters is not relayed")
        if moved:
            return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head)
        return self._send.to(of_cluster(Cluster.SOURCE, client.home), frame, head)

    def _commit(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        routes, group = self._routes, asked.group_id
        if routes.is_closed and (routes.gathers(group) is not None or routes.awaits(group)):
            return None
        return self._of_group(asked, frame, head, client)

    def _join(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        group, member = asked.group_id, asked.member_id
        gathering = self._routes.gathers(group)
        if gathering is None:
            if self._routes.begins_at_source(group, topics_of(asked)):
                return RequestStep(own=NOT_HERE[head.key](asked, head))
            waits = self._routes.awaits(group)
            return None if waits else self._of_group(asked, frame, head, client)
        generation, nothing = self._routes.seen.generation(group, member), nothing_for(asked)
        if generation is not None and nothing and gathering.empties(group, member, nothing):
            return RequestStep(own=joined(head, member, generation, nothing))
        gathering.joins(group, member)
        return None

    def _heartbeat(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Relay a heartbeat; a member that is awaited hears that its group rebalances.

        Its coordinator hears from it meanwhile, as finishing what it has in hand may take longer
        than its session.
        """
        self._routes.seen.saw(asked.group_id, asked.member_id, asked.generation_id)
        gathering = self._routes.gathers(asked.group_id)
        if gathering is None:
            return self._of_group(asked, frame, head, client)
        place = of_cluster(self._routes.leaves(gathering), client.home)
        return self._send.to(place, frame, head, partial(recoded, HeartbeatResponse, rebalances))

    def _sync(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        gathering = self._routes.gathers(asked.group_id)
        if gathering is None:
            return self._of_group(asked, frame, head, client)
        nothing = gathering.syncs(asked.group_id, asked.member_id)
        return RequestStep(own=synced_with_nothing(head, nothing) if nothing else not_synced(head))


def _groups_of(asked: Any) -> Iterable[str]:
    several = getattr(asked, "groups", None)
    return [each.group_id for each in several] if several else [asked.group_id]
