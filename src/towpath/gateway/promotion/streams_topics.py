"""The topics that Kafka Streams keeps for applications, which move with these. Blocking."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState
from towpath.gateway.joining_members import STREAM
from towpath.groups.kinds import KindMaker
from towpath.groups.left_behind import streams_topics
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode


def inner_topics(source: Admin, groups: Iterable[GroupState]) -> dict[ClientGroup, set[TopicName]]:
    """Return the topics for state, and those between steps, of each Streams application.

    An application with a classic group is known by the assignor of its members, so one that has
    stopped counts as any other group.

    Raises:
        ClusterError: The source does not answer.
    """
    may_be = {
        each.group.name: each
        for each in groups
        if each.group.kind is GroupKind.STREAMS or (each.is_classic and each.has_members)
    }
    if not may_be:
        return {}
    named = streams_topics(may_be, source.topics.describe())
    classic = [may_be[name].group for name in named if may_be[name].is_classic]
    assignors = source.groups.assignors(classic) if classic else {}
    return {
        may_be[name].group: {*topics}
        for name, topics in named.items()
        if not may_be[name].is_classic or assignors.get(may_be[name].group) == STREAM
    }


def barred(target: Admin, groups: Iterable[ClientGroup]) -> Reason | None:
    """Return why no Streams group can go on there, `None` where it can, or where there is none.

    Raises:
        ClusterError: The target does not answer.
    """
    if all(each.kind is not GroupKind.STREAMS for each in groups):
        return None
    why = KindMaker(target).streams()
    return why if why.code is ReasonCode.STREAMS_BARRED else None
