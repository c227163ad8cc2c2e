"""Members that leave their group, as whoever led them elsewhere tells the coordinator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.consumer import LeaveGroupRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.groups.listing import GroupState
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import (
    ConsumerGroupHeartbeatRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
)
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline

_LEAVE = -1
_BEATS: Mapping[str, Any] = {
    "consumer": ConsumerGroupHeartbeatRequest,
    "share": ShareGroupHeartbeatRequest,
    "streams": StreamsGroupHeartbeatRequest,
}
"""The heartbeat of each type of group but the classic one."""
_GONE = frozenset({0, 25, 69})
"""Kafka's codes UNKNOWN_MEMBER_ID and GROUP_ID_NOT_FOUND: it is not there any more."""


def leave(
    control: Control, members: Mapping[GroupState, Iterable[str]], deadline: Deadline
) -> Answers[ClientGroup, ClientGroup]:
    """Let members leave their groups, by their ids."""
    done: dict[ClientGroup, ClientGroup] = {}

    def one(group: GroupState) -> None:
        for member in members[group]:
            _leave(control, group, member, deadline)
        done[group.group] = group.group

    failed: dict[ClientGroup, ClusterError] = {}
    for state, error in (ask_each(members, one) if members else {}).items():
        failed[state.group] = error
    return Answers(done, failed)


def _leave(control: Control, group: GroupState, member: str, deadline: Deadline) -> None:
    what, name = f"taking a member out of {group.group}", group.group.name
    beat = _BEATS.get(group.type.lower())
    if beat is not None:
        request = beat(group_id=name, member_id=member, member_epoch=_LEAVE)
        code = control.ask(group.coordinator, request, deadline, what).error_code
    else:
        identity = LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=None)
        request = LeaveGroupRequest(group_id=name, member_id=member, members=[identity])
        answer = control.ask(group.coordinator, request, deadline, what)
        code = answer.error_code or next((each.error_code for each in answer.members or ()), 0)
    if code not in _GONE:
        raise refused(control.side, what, code, acl=f"Read on group {name}")
