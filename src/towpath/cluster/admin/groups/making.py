"""Creation of consumer protocol groups (KIP-848), and lookup of assignors.

Offsets alone make a group of type classic. A member that runs while it is moved to another cluster
knows an epoch there that the coordinator does not: it joins anew if the group is one of its own
protocol, and dies with GROUP_ID_NOT_FOUND if it is not. So one member joins and leaves beforehand.
An Empty classic group is converted by that, and keeps its offsets.
"""

from __future__ import annotations

import base64
import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline

_JOIN, _LEAVE = 0, -1
"""Epochs of a member that comes, and of one that goes."""
_REBALANCE_MS = 1000


def make_groups(
    control: Control, groups: Mapping[ClientGroup, Broker], deadline: Deadline
) -> Answers[ClientGroup, ClientGroup]:
    """Create groups, each by a member without topics that joins and leaves."""
    done: dict[ClientGroup, ClientGroup] = {}

    def one(group: ClientGroup) -> None:
        member = _member_id()
        epoch = _beat(control, group, groups[group], member, _JOIN, deadline)
        if epoch >= 0:
            _beat(control, group, groups[group], member, _LEAVE, deadline)
        done[group] = group

    failed = ask_each(groups, one) if groups else {}
    return Answers(done, failed)


def _beat(
    control: Control,
    group: ClientGroup,
    broker: Broker,
    member: str,
    epoch: int,
    deadline: Deadline,
) -> int:
    """Send a heartbeat; return the epoch that the coordinator gives."""
    joins, what = epoch == _JOIN, f"making {group} one of the consumer protocol"
    request = ConsumerGroupHeartbeatRequest(
        group_id=group.name,
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=_REBALANCE_MS if joins else -1,
        subscribed_topic_names=[] if joins else None,
        topic_partitions=[] if joins else None,
    )
    answer = control.ask(broker, request, deadline, what)
    if answer.error_code:
        acl = f"Read on group {group.name}"
        raise refused(control.side, what, answer.error_code, answer.error_message, acl)
    return int(answer.member_epoch)


def _member_id() -> str:
    """Return a member id as Kafka's clients make it (KIP-1082)."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def assignors(
    control: Control, groups: Mapping[ClientGroup, Broker], deadline: Deadline
) -> Answers[ClientGroup, str]:
    """Return the assignor of each classic group with members, such as `range` or `stream`."""
    shares: dict[Broker, dict[str, ClientGroup]] = defaultdict(dict)
    for group, broker in groups.items():
        shares[broker][group.name] = group
    found: dict[ClientGroup, str] = {}
    failed: dict[ClientGroup, ClusterError] = {}

    def one(broker: Broker) -> None:
        what, theirs = "asking for the members of groups", shares[broker]
        request: Any = DescribeGroupsRequest(groups=[*theirs])
        for said in control.ask(broker, request, deadline, what).groups:
            group = theirs[said.group_id]
            if said.error_code:
                acl = f"Describe on group {group.name}"
                failed[group] = refused(control.side, what, said.error_code, acl=acl)
            else:
                found[group] = said.protocol_data or ""

    lost = ask_each(shares, one) if shares else {}
    for broker, error in lost.items():
        failed |= dict.fromkeys(shares[broker].values(), error)
    return Answers(found, failed)
