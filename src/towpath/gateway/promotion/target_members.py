"""Members that groups have already on the cluster where they shall go on. Blocking, read-only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.cluster.admin.groups import GroupState
from towpath.gateway.promotion.fleet import Fleet
from towpath.gateway.promotion.undo_errors import missed
from towpath.ledger.link import OpenLink
from towpath.model.groups import ClientGroup
from towpath.model.reasons import Reason, ReasonCode


def target_members(link: OpenLink, groups: Iterable[ClientGroup]) -> dict[GroupState, list[str]]:
    """Return the members of those groups that have any on the target of the link that copies.

    Raises:
        ClusterError: It does not answer, or does not tell them.
    """
    names, listing = {each.name for each in groups}, link.target.groups.listed()
    there = {  # of whatever kind: offsets alone make a classic group
        each.group: each
        for name, each in listing.groups.items()
        if name in names and each.has_members
    }
    members = link.target.groups.members(there.values())
    for error in members.failed.values():
        raise error
    return {there[group]: [each.id for each in part] for group, part in members.items() if part}


def strangers(fleet: Fleet, link: OpenLink, groups: Iterable[ClientGroup]) -> dict[str, list[str]]:
    """Return the members there, by group, that no gateway of the link led away from there.

    With them a group has no place for the offsets that move, and its members would share it with
    clients of another link, or with some that were started too early.

    Raises:
        TowpathError: The target does not answer, or the ledger cannot be read or written.
    """
    there = target_members(link, groups)
    return fleet.unseen({each.group.name: part for each, part in there.items()})


def of_strangers(fleet: Fleet, link: OpenLink, groups: Iterable[ClientGroup]) -> Iterator[Reason]:
    """Yield a reason for each group with such members.

    Raises:
        TowpathError: The target does not answer, or the ledger cannot be read or written.
    """
    for group, names in strangers(fleet, link, groups).items():
        yield missed(ReasonCode.PROMOTE_MEMBERS_THERE, {group: names}).why
