"""A watch for members that join at the source after their group was promoted. Blocking."""

from __future__ import annotations

import time

from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.model.reasons import Reason, ReasonCode

_EVERY = 10.0
"""Seconds after which the source is looked at again."""


class LateMembers:
    """Names members that read at the source though their group has moved, once.

    Args:
        at: The link and the gateway.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._told = set[tuple[str, str]]()
        self._looked = -_EVERY

    def look(self, *, source_away: bool) -> list[Reason]:
        """Return a reason for each group with new members at the source, if it is time to look.

        Args:
            source_away: Whether the source cannot be asked.

        Raises:
            TowpathError: It does not answer.
        """
        routes, groups = self._at.gateway.routes, self._at.link.source.groups
        if source_away or time.monotonic() - self._looked < _EVERY:
            return []
        self._looked = time.monotonic()
        moved = self._at.call(lambda: {*routes.groups} if routes.mirror is not None else set())
        if not moved:
            return []
        listed = groups.listed().groups
        busy = [each for name, each in listed.items() if name in moved and each.has_members]
        found = []
        for group, members in groups.members(busy).items():
            new = [each for each in members if (group.name, each.id) not in self._told]
            self._told |= {(group.name, each.id) for each in new}
            if new:
                code, member = ReasonCode.PROMOTE_GROUP_STRAY, str(new[0])
                found.append(Reason.of(code, group=group.name, count=len(new), member=member))
        return found
