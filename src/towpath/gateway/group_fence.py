"""Requests of groups whose members wait at the gateway, as they may not read yet.

With `gateway.reads: target`, a group of the source is served by the target from its promotion on,
and by nobody before: its members keep asking to join, and read nothing. Once topics went back to
the source, no group waits any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.gateway.answer_changes import UNKNOWN_MEMBER
from towpath.gateway.apis import Api
from towpath.gateway.coordinator_answers import REFUSALS
from towpath.gateway.frames import Head
from towpath.gateway.heartbeat_forms import FORMS, HeartbeatForm
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.request_sending import Handler, RelayedClient
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Routes
from towpath.gateway.steering_answers import FENCED_EPOCH, LOADING, beat_left, beat_refused

_REQUESTS: Mapping[int, tuple[Any, int]] = {
    Api.OFFSET_COMMIT: (OffsetCommitRequest, LOADING),
    Api.OFFSET_FETCH: (OffsetFetchRequest, LOADING),
    Api.OFFSET_DELETE: (OffsetDeleteRequest, LOADING),
    Api.HEARTBEAT: (HeartbeatRequest, UNKNOWN_MEMBER),
    Api.SYNC_GROUP: (SyncGroupRequest, UNKNOWN_MEMBER),
    Api.LEAVE_GROUP: (LeaveGroupRequest, 0),
}
"""Requests that are refused before a promotion, and with which code. For offsets clients ask again,
without telling their application. Nobody is a member."""


class GroupFence:
    """Routes requests of groups to the target, but for those of groups that wait.

    Args:
        others: Handles requests of groups that do not wait.
        routes: What is promoted.
        mirror: Which groups wait, and who came.

    Attributes:
        handlers: What decodes a request and what handles it, by its API key.
    """

    def __init__(
        self, others: Mapping[int, tuple[Any, Handler]], routes: Routes, mirror: MirrorReads
    ) -> None:
        self._others, self._routes, self._fenced = others, routes, mirror.fenced
        self.handlers: Mapping[int, tuple[Any, Handler]] = {
            **{
                key: (message, partial(self._refused, code=code))
                for key, (message, code) in _REQUESTS.items()
            },
            Api.JOIN_GROUP: (JoinGroupRequest, self._join),
            Api.CONSUMER_GROUP_HEARTBEAT: (ConsumerGroupHeartbeatRequest, self._beat),
            **{
                key: (FORMS[key].request, partial(self._other_beat, FORMS[key]))
                for key in (Api.SHARE_GROUP_HEARTBEAT, Api.STREAMS_GROUP_HEARTBEAT)
            },
        }

    def _refused(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient, *, code: int
    ) -> RequestStep | None:
        if any(map(self._routes.fences, _groups_of(asked))):
            return RequestStep(own=REFUSALS[head.key](asked, head, code))
        return self._served(asked, frame, head, client)

    def _join(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        if not self._routes.fences(asked.group_id):
            return self._served(asked, frame, head, client)
        who = client.name, id(client)
        if self._fenced.holds(asked.group_id, who, head.correlation):
            return None
        return RequestStep(own=REFUSALS[head.key](asked, head, LOADING))

    def _beat(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        """Answer or relay a heartbeat of KIP-848."""
        member, epoch = asked.member_id, asked.member_epoch
        if not self._routes.fences(asked.group_id):
            return self._served(asked, frame, head, client)
        if epoch < 0:
            return RequestStep(own=beat_left(head, member, epoch))
        self._fenced.came(asked.group_id, (client.name, member or id(client)))
        return RequestStep(own=beat_refused(head, member, FENCED_EPOCH if epoch else LOADING))

    def _other_beat(
        self,
        form: HeartbeatForm,
        asked: Any,
        frame: bytearray,
        head: Head,
        client: RelayedClient,
    ) -> RequestStep | None:
        """Answer or relay a heartbeat of a share group or a Streams group, which do not move."""
        if not self._routes.fences(asked.group_id):
            return self._served(asked, frame, head, client)
        if asked.member_epoch < 0:
            return RequestStep(own=form.refused(asked, head, 0))
        self._fenced.came(asked.group_id, (client.name, asked.member_id or id(client)))
        return RequestStep(own=form.refused(asked, head, LOADING))

    def _served(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        _, handle = self._others[head.key]
        return handle(asked, frame, head, client)


def _groups_of(asked: Any) -> Iterable[str]:
    several = getattr(asked, "groups", None)
    return [each.group_id for each in several] if several else [asked.group_id]
