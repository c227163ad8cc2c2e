"""Members of consumer groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.groups.listing import GroupState
from towpath.cluster.admin.groups.subscriptions import described
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.runtime.deadline import Deadline


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group.

    Attributes:
        id: Its id in the group.
        client: The client id that it gave itself.
        host: Where its coordinator sees it.
        assigned: Whether it has partitions.
    """

    id: str
    client: str
    host: str
    assigned: bool

    def __str__(self) -> str:
        return f"{self.client} at {self.host}"


Members = Answers[ClientGroup, tuple[GroupMember, ...]]


def members(control: Control, groups: Iterable[GroupState], deadline: Deadline) -> Members:
    """Return the members of groups, classic ones or of KIP-848."""
    shares: dict[tuple[Broker, bool], list[ClientGroup]] = defaultdict(list)
    for each in groups:
        shares[each.coordinator, each.type.lower() == "consumer"].append(each.group)
    found: dict[ClientGroup, tuple[GroupMember, ...]] = {}

    def ask(share: tuple[Broker, bool]) -> None:
        broker, is_new = share
        names = [group.name for group in shares[share]]
        for said in described(control, broker, names, deadline, is_new=is_new):
            found[ClientGroup(said.group_id)] = tuple(
                GroupMember(
                    each.member_id,
                    each.client_id,
                    each.client_host,
                    bool(each.assignment.topic_partitions if is_new else each.member_assignment),
                )
                for each in said.members
            )

    lost = ask_each(shares, ask)
    failed: dict[ClientGroup, ClusterError] = {
        group: error for share, error in lost.items() for group in shares[share]
    }
    return Answers(found, failed)
