"""Members of groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.groups.listing import GroupState
from towpath.cluster.admin.groups.subscriptions import described
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline

LINGERS = 300.0
"""Seconds for which members that went elsewhere without a word may still be there: their
coordinator drops them by their session timeout."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        id: Its id in the group.
        client: The client id that it gave itself.
        host: Where its coordinator sees it.
        assigned: Whether it has partitions, or tasks.
    """

    id: str
    client: str
    host: str
    assigned: bool

    def __str__(self) -> str:
        return f"{self.client} at {self.host}"


Members = Answers[ClientGroup, tuple[GroupMember, ...]]


def members(control: Control, groups: Iterable[GroupState], deadline: Deadline) -> Members:
    """Return the members of groups of any type."""
    shares: dict[tuple[Broker, str], dict[str, ClientGroup]] = defaultdict(dict)
    for each in groups:
        shares[each.coordinator, each.type.lower()][each.group.name] = each.group
    found: dict[ClientGroup, tuple[GroupMember, ...]] = {}

    def ask(share: tuple[Broker, str]) -> None:
        broker, type_ = share
        assigned = _ASSIGNED.get(type_, _of_classic)
        for said in described(control, broker, [*shares[share]], deadline, type_):
            found[shares[share][said.group_id]] = tuple(
                GroupMember(each.member_id, each.client_id, each.client_host, assigned(each))
                for each in said.members
            )

    lost = ask_each(shares, ask)
    failed: dict[ClientGroup, ClusterError] = {
        group: error for share, error in lost.items() for group in shares[share].values()
    }
    return Answers(found, failed)


def _of_classic(member: Any) -> bool:
    return bool(member.member_assignment)


def _of_topics(member: Any) -> bool:
    return bool(member.assignment.topic_partitions)


def _of_tasks(member: Any) -> bool:
    tasks = member.assignment
    return bool(tasks.active_tasks or tasks.standby_tasks or tasks.warmup_tasks)


_ASSIGNED: Mapping[str, Callable[[Any], bool]] = {
    "consumer": _of_topics,
    "share": _of_topics,
    "streams": _of_tasks,
}
"""What tells whether a described member has partitions or tasks, by the type of its group."""
