"""Groups whose members wait at the gateway, and who of them is still at the source. Blocking."""

from __future__ import annotations

from towpath.gateway.promotion.promotion_resources import PromotionResources


def waiting_groups(at: PromotionResources) -> dict[str, int | None]:
    """Return how many members groups have at the source, of those that wait at the gateway.

    It is `None` for a group that the source does not have. Of groups that it does not tell now
    there is nothing.

    Raises:
        ClusterError: The source does not answer.
    """
    mirror = at.gateway.routes.mirror
    names = at.call(mirror.fenced.counts) if mirror is not None else {}
    if not names:
        return {}
    listing = at.link.source.groups.listed()
    states = {name: listing.groups.get(name) for name in names}
    found = {group.name: len(each) for group, each in at.link.source.groups.members(
        [each for each in states.values() if each is not None and each.has_members]
    ).items()}  # fmt: skip
    told: dict[str, int | None] = {}
    for name, state in states.items():
        if state is None:
            if not listing.failed:
                told[name] = None
        elif not state.has_members:
            told[name] = 0
        elif name in found:
            # Members come and go between both questions.
            told[name] = max(1, found[name])
    return told
