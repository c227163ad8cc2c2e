"""Topics that members of groups read."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.groups.listing import GroupState
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import (
    ConsumerGroupDescribeRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)
from towpath.cluster.metadata import Broker
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicName
from towpath.runtime.deadline import Deadline

_DESCRIBING = "asking what the members of consumer groups read"
_GROUPS = 100
"""Groups of one request."""
_DESCRIBE = 5
"""The DescribeGroups version that is used at most."""

_BY_TYPE: Mapping[str, Any] = {
    "consumer": ConsumerGroupDescribeRequest,
    "share": ShareGroupDescribeRequest,
    "streams": StreamsGroupDescribeRequest,
}
"""What asks for groups of each type of Kafka but the classic one."""
Subscriptions = dict[ClientGroup, frozenset[TopicName]]


def subscriptions(
    control: Control, groups: Iterable[GroupState], deadline: Deadline
) -> Subscriptions:
    """Return the topics that members of groups read; groups without an answer are absent.

    Classic groups tell it in the protocol of consumers, others in requests of their own. Of a
    Streams application these are the topics that it reads, without its changelogs. Share groups
    are not asked.
    """
    shares: dict[tuple[Broker, str], list[ClientGroup]] = defaultdict(list)
    for each in groups:
        if each.group.kind is not GroupKind.SHARE:
            shares[each.coordinator, each.type.lower()].append(each.group)
    found: Subscriptions = {}

    def ask(share: tuple[Broker, str]) -> None:
        broker, type_ = share
        asked = {group.name: group for group in shares[share]}
        names = [*asked]
        for at in range(0, len(names), _GROUPS):
            part = names[at : at + _GROUPS]
            for said in described(control, broker, part, deadline, type_):
                topics = _read(said, type_)
                if topics is not None:
                    found[asked[said.group_id]] = topics

    ask_each(shares, ask)  # what a broker does not tell is not known
    return found


def described(
    control: Control, broker: Broker, names: Sequence[str], deadline: Deadline, type_: str
) -> Sequence[Any]:
    """Ask a coordinator to describe groups.

    Args:
        control: Asks.
        broker: The coordinator.
        names: The groups.
        deadline: When it is over.
        type_: Their type in the words of Kafka, in small letters; "" for a classic one.

    Raises:
        ClusterError: It does not answer.
    """
    kind = _BY_TYPE.get(type_)
    if kind is not None:
        request, newest = kind(group_ids=list(names)), None
    else:
        request, newest = DescribeGroupsRequest(groups=list(names)), _DESCRIBE
    told: Sequence[Any] = control.ask(broker, request, deadline, _DESCRIBING, newest).groups
    return told


def _read(said: Any, type_: str) -> frozenset[TopicName] | None:
    """Return the topics that the members of a described group read, `None` if that is unknown."""
    if said.error_code:
        return None
    if type_ == "streams":
        return _of_topology(said.topology)
    is_new = type_ == "consumer"
    try:
        found = {name for member in said.members for name in _of_member(member, is_new=is_new)}
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(map(TopicName, found))


def _of_topology(topology: Any) -> frozenset[TopicName] | None:
    if topology is None or topology.subtopologies is None:
        return None
    return frozenset(
        TopicName(name)
        for part in topology.subtopologies
        for name in (*part.source_topics, *(each.name for each in part.repartition_source_topics))
    )


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
