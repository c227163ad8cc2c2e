"""The ledger's knowledge of groups, for a source that answers in part or lost topics. Read-only.

A failover brings over what was last known where the coordinator of a group does not answer, or
where a topic was deleted at the source: its offsets went with it, while the mirror topic lives on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo
from towpath.groups.observe_groups import SourceGroup, SourceView, source_known
from towpath.ledger.books import LinkBooks
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import GroupsConfig


def with_remembered(
    view: SourceView, config: GroupsConfig, books: LinkBooks, source: Admin
) -> SourceView:
    """Return a view of the source, completed by what the ledger knows of groups.

    Args:
        view: The source now.
        config: What the file asks for.
        books: What the ledger knows.
        source: The source.

    Raises:
        ClusterError: No broker of the source can be asked.
    """
    known = source_known(config, books).groups
    silent = _silent(view, known, source)
    topics = {tp.topic for each in known.values() for tp in each.commits}
    lost = _lost_topics(books, topics, source)
    groups, told = dict(view.groups), dict[ClientGroup, Reason]()
    for name, then in known.items():
        if name in silent:
            groups[name], told[then.group] = then, silent[name]
            continue
        ids = books.groups[name].ids
        there = _in(then, {topic for topic, each in lost.items() if ids.get(topic) == each.id})
        if there.commits:
            groups[name] = _joined(groups.get(name), there)
            told[then.group] = lost[min(tp.topic for tp in there.commits)].why
    return replace(
        view,
        groups=groups,
        ids={**view.ids, **{topic: each.id for topic, each in lost.items()}},
        hidden={topic: why for topic, why in view.hidden.items() if topic not in lost},
        failed={each: why for each, why in view.failed.items() if each.name not in silent},
        remembered=told,
    )


def all_remembered(config: GroupsConfig, books: LinkBooks, why: ClusterError) -> SourceView:
    """Return the groups as the ledger last saw them, as the source could not be asked."""
    view = source_known(config, books)
    return replace(view, remembered={each.group: why.reason for each in view.groups.values()})


@dataclass(frozen=True, slots=True)
class _LostTopic:
    """A mirrored topic that the source does not show any more, with the id that it had."""

    id: TopicId
    why: Reason


def _silent(view: SourceView, known: Mapping[str, SourceGroup], source: Admin) -> dict[str, Reason]:
    """Return the known groups whose coordinators do not answer, and why.

    Coordinators list their groups. So one that is away lists none, and is asked by name.
    """
    unlisted = [each.group for name, each in known.items() if name not in view.listed]
    said = source.groups.offsets(unlisted).failed if unlisted else {}
    failed = {each.name: why.reason for each, why in {**said, **view.failed}.items()}
    return {name: why for name, why in failed.items() if name in known}


def _lost_topics(
    books: LinkBooks, topics: Collection[TopicName], source: Admin
) -> dict[TopicName, _LostTopic]:
    """Return the mirrored ones of some topics that the source does not show as they were."""
    mirrored = dict(_mirrored(books, topics))
    there = source.topics.describe(mirrored) if mirrored else {}
    return {
        topic: _LostTopic(number, why)
        for topic, number in mirrored.items()
        if (why := _why_lost(there.get(topic), number)) is not None
    }


def _mirrored(
    books: LinkBooks, topics: Collection[TopicName]
) -> Iterable[tuple[TopicName, TopicId]]:
    for tp, each in books.partitions.items():
        if each.opened is not None and tp.topic in topics:
            yield tp.topic, each.opened.source_topic_id


def _why_lost(info: TopicInfo | None, number: TopicId) -> Reason | None:
    if info is None:
        return Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)
    if info.error is not None:
        return info.error.reason
    return None if info.id == number else Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)


def _in(group: SourceGroup, topics: Collection[TopicName]) -> SourceGroup:
    return group.only(lambda tp: tp.topic in topics)


def _joined(now: SourceGroup | None, then: SourceGroup) -> SourceGroup:
    """Return a group as it is now, with what it had in topics that are lost."""
    if now is None:
        return then
    away = {tp.topic for tp in then.commits}
    rest = now.only(lambda tp: tp.topic not in away)
    return replace(
        rest, commits={**rest.commits, **then.commits}, stands={**rest.stands, **then.stands}
    )
