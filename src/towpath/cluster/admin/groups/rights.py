"""The login's right to write offsets of groups, as their coordinators report it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kafka.protocol.consumer import HeartbeatRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.codes import GROUP_AUTHORIZATION_FAILED, refused
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline

_NEWEST = 3
"""Later versions of Heartbeat bring nothing new; each broker from 2.8 to 4.x takes this one."""
_WRITING = "writing offsets of groups"


def unwritable(
    control: Control, groups: Mapping[ClientGroup, Broker], deadline: Deadline
) -> dict[ClientGroup, ClusterError]:
    """Return the groups whose offsets the login may not write, and why; they need not exist.

    Their coordinators are sent the heartbeat of a member that no group has. A broker looks at the
    right Read on the group first, which a commit needs as well (`KafkaApis`), and then refuses the
    member, so nothing is changed. DescribeGroups would tell of rights on groups that exist alone.

    A group is not among them if its coordinator does not tell.

    Args:
        control: The cluster.
        groups: The groups, with their coordinators.
        deadline: When to give up.
    """
    shares: dict[Broker, list[ClientGroup]] = defaultdict(list)
    for group, broker in groups.items():
        shares[broker].append(group)
    found: dict[ClientGroup, ClusterError] = {}

    def one(broker: Broker) -> None:
        for group in shares[broker]:
            request: Any = HeartbeatRequest(
                group_id=group.name, generation_id=-1, member_id="", group_instance_id=None
            )
            said = control.ask(broker, request, deadline, _WRITING, newest=_NEWEST)
            if said.error_code == GROUP_AUTHORIZATION_FAILED:
                acl = f"Read on group {group.name}"
                found[group] = refused(control.side, _WRITING, said.error_code, acl=acl)

    ask_each(shares, one)  # what a broker does not tell is not known
    return found
