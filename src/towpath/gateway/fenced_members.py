"""Members of groups that may not read yet: their group waits for its promotion. Pure.

With `gateway.reads: target`, members that came to the gateway wait until the last one has left the
source. They are members of nothing meanwhile, as brokers take offsets of others only for groups
without members.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

HOLD = 10.0
"""Seconds for which a JoinGroup is held before its member is told to ask again: clients wait for
minutes, but one that is gone is noticed only then."""
_HEARD = 20.0
"""Seconds within which a member that waits is heard of again."""


class FencedMembers:
    """The members that wait for the promotion of their groups.

    Args:
        now: Tells the time, in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._heard: dict[str, dict[Hashable, float]] = {}
        self._held: dict[tuple[Hashable, int], float] = {}

    def came(self, group: str, member: Hashable) -> None:
        """Note that a member asked to join its group."""
        self._heard.setdefault(group, {})[member] = self._now()

    def holds(self, group: str, member: Hashable, request: int) -> bool:
        """Note that a member asked to join, and return whether its request is to be held longer.

        Args:
            group: Its group.
            member: Who asks.
            request: The number of its request; the same one may be asked about again.
        """
        self.came(group, member)
        since = self._held.setdefault((member, request), self._now())
        if self._now() - since < HOLD:
            return True
        del self._held[member, request]
        return False

    def counts(self) -> dict[str, int]:
        """Return how many members of each group wait; those not heard of for long are gone."""
        then = self._now() - _HEARD
        for group, members in [*self._heard.items()]:
            for member, heard in [*members.items()]:
                if heard < then:
                    del members[member]
            if not members:
                del self._heard[group]
        self._held = {key: since for key, since in self._held.items() if since >= then}
        return {group: len(members) for group, members in self._heard.items()}

    def opened(self, group: str) -> None:
        """Note that the members of a group need not wait any more."""
        self._heard.pop(group, None)
