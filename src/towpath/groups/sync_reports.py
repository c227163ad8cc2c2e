"""The report of a sync on each group. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from towpath.groups.decide import TranslatedGroup, mirror_client
from towpath.groups.model import GroupPosition, GroupReport
from towpath.groups.observe_groups import SourceGroup, TargetView
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.reasons import Reason, ReasonCode

_NAMED = 3


def reports(
    groups: Iterable[TranslatedGroup],
    positions: Iterable[GroupPosition],
    target: TargetView,
    due: Mapping[ClientGroup, int],
) -> Iterator[GroupReport]:
    """Yield the result for each group.

    Args:
        groups: The groups.
        positions: Their positions, those of a group beside each other.
        target: The target as it was before.
        due: How many positions of each were to be written.
    """
    by_group = {
        group: tuple(each) for group, each in groupby(positions, key=lambda each: each.group)
    }
    for each in groups:
        there = target.groups.get(each.mirror_group)
        yield GroupReport(
            group=each.group.group,
            mirror_group=each.mirror_group,
            source_state=each.group.state,
            target_state=there.state if there is not None else "",
            at=each.group.at,
            positions=by_group.get(each.group.group, ()),
            due=due[each.group.group],
            type=each.group.type,
            mark=each.group.mark,
        )


def with_open_transaction(report: GroupReport, seen: SourceGroup) -> GroupReport:
    """Return a report that tells of an open transaction of the group."""
    if not seen.pending:
        return report
    places = shortened(sorted(map(str, seen.pending)), _NAMED)
    code = ReasonCode.GROUP_TRANSACTION_OPEN
    why = Reason.of(code, group=report.group.name, places=places)
    return replace(report, remarks=(*report.remarks, why))


def failed_groups(
    groups: Iterable[TranslatedGroup], target: TargetView
) -> dict[ClientGroup, ClusterError]:
    """Return the groups whose mirror group could not be looked at."""
    return {
        each.group.group: target.failed[client]
        for each in groups
        if (client := mirror_client(each)) in target.failed
    }
