"""Members that read at the source though a gateway has moved their group to the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups.members import LINGERS
from towpath.model.amounts import counted, shortened
from towpath.model.errors import ClusterError
from towpath.runtime.clock import now_ms

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LateGroup:
    """A group that has moved, and is still read at the source.

    Attributes:
        group: Its name.
        members: Client id and host of each member there.
        error: Why these are not known, "" if they are.
    """

    group: str
    members: tuple[str, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"who reads at the source of group {self.group} is not known: {self.error}"
        return (
            f"{counted(len(self.members), 'member')} of group {self.group} at the source, though it"
            f" has moved: {shortened(self.members, _NAMED)}; what they read there the group reads"
            " on the target, too (PROMOTE_GROUP_STRAY)"
        )


def late_members(moved: Mapping[str, int], source: Admin) -> tuple[LateGroup, ...]:
    """Return the moved groups that have members at the source.

    Args:
        moved: When each moved, in ms since 1970. One that has moved a moment ago is left out.
        source: The source.
    """
    due = {name for name, at in moved.items() if now_ms() - at > 1000 * LINGERS}
    if not due:
        return ()
    try:
        found = source.groups.members_of(due)
    except ClusterError as error:
        return tuple(LateGroup(group=name, error=str(error)) for name in sorted(due))
    late = [
        LateGroup(group=group.name, members=tuple(map(str, members)))
        for group, members in found.items()
        if members
    ]
    late += [LateGroup(group=group.name, error=str(error)) for group, error in found.failed.items()]
    return tuple(sorted(late, key=lambda each: each.group))
