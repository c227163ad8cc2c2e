"""Topics that members of groups read."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.groups.listing import GroupState
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import ConsumerGroupDescribeRequest
from towpath.cluster.metadata import Broker
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicName
from towpath.runtime.deadline import Deadline

_DESCRIBING = "asking what the members of consumer groups read"
_GROUPS = 100
"""Groups of one request."""
_DESCRIBE = 5
"""The DescribeGroups version that is used at most."""

Subscriptions = dict[ClientGroup, frozenset[TopicName]]


def subscriptions(
    control: Control, groups: Iterable[GroupState], deadline: Deadline
) -> Subscriptions:
    """Return the topics that members of groups read; groups without an answer are absent.

    Classic groups tell it in the protocol of consumers, those of KIP-848 in a request of their own.
    Share groups and Streams groups are not asked.
    """
    shares: dict[tuple[Broker, bool], list[ClientGroup]] = defaultdict(list)
    for each in groups:
        if each.group.kind is GroupKind.CONSUMER:
            is_new = each.type.lower() == "consumer"
            shares[each.coordinator, is_new].append(each.group)
    found: Subscriptions = {}

    def ask(share: tuple[Broker, bool]) -> None:
        broker, is_new = share
        names = [group.name for group in shares[share]]
        for at in range(0, len(names), _GROUPS):
            part = names[at : at + _GROUPS]
            for said in described(control, broker, part, deadline, is_new=is_new):
                topics = _read(said, is_new=is_new)
                if topics is not None:
                    found[ClientGroup(said.group_id)] = topics

    ask_each(shares, ask)  # what a broker does not tell is not known
    return found


def described(
    control: Control, broker: Broker, names: Sequence[str], deadline: Deadline, *, is_new: bool
) -> Sequence[Any]:
    """Ask a coordinator to describe groups: classic ones, or those of KIP-848.

    Raises:
        ClusterError: It does not answer.
    """
    if is_new:
        request, newest = ConsumerGroupDescribeRequest(group_ids=list(names)), None
    else:
        request, newest = DescribeGroupsRequest(groups=list(names)), _DESCRIBE
    told: Sequence[Any] = control.ask(broker, request, deadline, _DESCRIBING, newest).groups
    return told


def _read(said: Any, *, is_new: bool) -> frozenset[TopicName] | None:
    """Return the topics that the members of a described group read, `None` if that is unknown."""
    if said.error_code:
        return None
    try:
        found = {name for member in said.members for name in _of_member(member, is_new=is_new)}
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(map(TopicName, found))


def _of_member(member: Any, *, is_new: bool) -> Iterator[str]:
    if is_new:
        yield from member.subscribed_topic_names
        for assigned in (member.assignment, member.target_assignment):
            yield from (each.topic_name for each in assigned.topic_partitions)
    else:
        yield from subscribed(bytes(member.member_metadata))


def subscribed(metadata: bytes) -> Iterator[str]:
    """Yield the topics in a member's metadata (ConsumerProtocolSubscription, all versions).

    Raises:
        struct.error: The metadata are cut, or something else.
    """
    _, count = struct.unpack_from(">hi", metadata)
    at = 6
    for _ in range(count):
        (size,) = struct.unpack_from(">h", metadata, at)
        if size < 0 or at + 2 + size > len(metadata):
            raise struct.error("a name does not fit")
        yield metadata[at + 2 : at + 2 + size].decode()
        at += 2 + size
