"""A watch for members that join at the source after their group was promoted. Blocking."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Set

from towpath.cluster.admin.groups.members import LINGERS, GroupMember
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.model.reasons import Reason, ReasonCode

_EVERY = 10.0
"""Seconds after which the source is looked at again."""
_NAMED = 5


class LateMembers:
    """Names members that read at the source though their group has moved, once.

    Args:
        at: The link and the gateway.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._joined = JoinedLate(time.monotonic)
        self.looked = -_EVERY

    def look(self, *, source_away: bool) -> list[Reason]:
        """Return a reason for each group with new members at the source, if it is time to look.

        Args:
            source_away: Whether the source cannot be asked.

        Raises:
            TowpathError: It does not answer, or the ledger cannot be read.
        """
        routes, groups = self._at.gateway.routes, self._at.link.source.groups
        if source_away or time.monotonic() - self.looked < _EVERY:
            return []
        self.looked = time.monotonic()
        moved, reads_there = self._at.call(lambda: ({*routes.groups}, routes.mirror is not None))
        if not moved:
            self._joined.look(moved, {})
            return []
        found = {
            group.name: {each.id: each for each in part}
            for group, part in groups.members_of(moved).items()
        }
        # Where clients read mirrors, no member came to the source through a gateway.
        new = self._joined.look(moved, found, empty_before=reads_there)
        late = new if reads_there else self._at.fleet.unseen(new)
        self._joined.told(late)
        return [*_reasons(late, found)]


def _reasons(
    late: Mapping[str, Iterable[str]], found: Mapping[str, Mapping[str, GroupMember]]
) -> Iterable[Reason]:
    for group, names in sorted(late.items()):
        members = [str(found[group][name]) for name in sorted(names)]
        if members:
            more = ", …" if len(members) > _NAMED else ""
            yield Reason.of(
                ReasonCode.PROMOTE_GROUP_STRAY,
                group=group,
                count=len(members),
                member=", ".join(members[:_NAMED]) + more,
            )


class JoinedLate:
    """Tells members that joined a group after it had moved from those of before. Pure.

    Args:
        clock: Tells the time, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, frozenset[str]]] = {}
        """When each group was looked at first since it moved, and who was a member then."""
        self._told = set[tuple[str, str]]()

    def look(
        self,
        moved: Set[str],
        found: Mapping[str, Collection[str]],
        *,
        empty_before: bool = False,
    ) -> dict[str, list[str]]:
        """Return the members that may have joined late, by group, but for those that were told.

        Args:
            moved: All groups that have moved.
            found: The members that they have at the source.
            empty_before: Whether nobody was a member there when they moved.
        """
        now = self._clock()
        self._known = {name: each for name, each in self._known.items() if name in moved}
        self._told = {each for each in self._told if each[1] in found.get(each[0], ())}
        for name in moved - self._known.keys():
            there = frozenset[str]() if empty_before else frozenset(found.get(name, ()))
            self._known[name] = now, there
        late = {name: [*self._late(name, found[name], now)] for name in found if name in moved}
        return {name: members for name, members in late.items() if members}

    def _late(self, group: str, members: Iterable[str], now: float) -> Iterable[str]:
        since, there = self._known[group]
        for each in members:
            if (group, each) not in self._told and (each not in there or now - since > LINGERS):
                yield each

    def told(self, late: Mapping[str, Iterable[str]]) -> None:
        """Note which members were named."""
        self._told |= {(group, name) for group, names in late.items() for name in names}
