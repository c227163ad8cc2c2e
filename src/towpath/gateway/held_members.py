"""Group members whose JoinGroup the gateway holds back until their group has moved. Pure.

A member of a classic group hears that its group rebalances: it commits, gives its partitions back
and asks to join, and that request is held. One that would keep its partitions meanwhile (KIP-429)
is told first that it has none any more. A member of a group whose protocol has epochs (KIP-848,
KIP-1071) hears that it has no partitions: it commits, gives them back and says so; later the target
does not know it, and it joins anew. Either way nothing is read twice, as all commits come before
the last word of a member. Until then the heartbeats of both kinds go on to their coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.gateway.joining_members import Nothing


@dataclass(slots=True)
class HeldMembers:
    """The group members that are awaited before their groups move, and those that came.

    Attributes:
        groups: The groups.
        idle: Members, by group, that have no partitions to give back.
        come: Members, by group, that gave back what they had.
        told: Groups and members of protocols with epochs that were told that they have nothing.
        emptying: Groups and members of classic groups that are being told that they have nothing,
            with how they are told; `emptied`, those that were.
        others: Groups that stay where they are; those of neither kind are new, and wait.
        back: Whether the groups go back to the source.
        closed: Whether commits are held, too, as the offsets are being written to the target.
    """

    groups: frozenset[str]
    idle: Mapping[str, frozenset[str]] = field(default_factory=dict)
    come: dict[str, set[str]] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    emptying: dict[tuple[str, str], Nothing] = field(default_factory=dict)
    emptied: set[tuple[str, str]] = field(default_factory=set)
    others: frozenset[str] = frozenset()
    back: bool = False
    closed: bool = False

    def is_new(self, group: str) -> bool:
        """Whether a group was not there when it was looked which of them move."""
        return group not in self.groups and group not in self.others

    def joins(self, group: str, member: str) -> None:
        """Note that a member of a classic group sent JoinGroup, which is held back."""
        self.come.setdefault(group, set()).add(member)

    def empties(self, group: str, member: str, nothing: Nothing) -> bool:
        """Note that a member of a classic group has something to give back; `False` if too late.

        Each is told once that it has nothing: one that does not listen is held like others.
        """
        if self.closed or (group, member) in self.emptied:
            return False
        self.emptying[group, member] = nothing
        return True

    def syncs(self, group: str, member: str) -> Nothing | None:
        """Note the SyncGroup of a member; return how to tell it that it has nothing, if it is."""
        nothing = self.emptying.pop((group, member), None)
        if nothing is not None:
            self.emptied.add((group, member))
        return nothing

    def beats(self, group: str, member: str, owned: Iterable[object] | None) -> None:
        """Note the heartbeat of a member of a group whose protocol has epochs.

        Args:
            group: The group.
            member: The member.
            owned: The partitions or tasks that it says it has, `None` where that is as before.
        """
        self.told.add((group, member))
        come = self.come.setdefault(group, set())
        if owned is None:
            come |= {member} & self.idle.get(group, frozenset())
        elif [*owned]:  # it was given something just before
            come.discard(member)
        else:
            come.add(member)

    def missing(self, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the members that have not come yet, by group.

        Args:
            members: The members that the source knows, by group.
        """
        left = {
            group: sorted(set(names) - self.come.get(group, set()))
            for group, names in members.items()
        }
        return {group: names for group, names in left.items() if names}
