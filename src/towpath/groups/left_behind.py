"""Topics of Streams applications, and old groups, that remain after a move of groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from towpath.groups.model import GroupReport
from towpath.ledger.entries import SeenGroup
from towpath.model.amounts import shortened
from towpath.model.groups import Commit
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

_INNER = "-changelog", "-repartition"
"""How the names of the topics end that Kafka Streams makes (`StreamsConfig`, `application.id`)."""
_NAMED = 3


def streams_topics(
    groups: Iterable[str], topics: Iterable[TopicName]
) -> dict[str, tuple[TopicName, ...]]:
    """Return the topics that Kafka Streams has made for applications, by their group.

    Their names are `<application.id>-<what they are for>-changelog` or `-repartition`, and the
    group is named as the application. Of several groups, the longest name is meant.

    Args:
        groups: The names of the groups.
        topics: The topics among which they are looked for.
    """
    names = sorted(groups, key=len, reverse=True)
    found: dict[str, list[TopicName]] = {}
    for topic in sorted(topics):
        end = next((end for end in _INNER if topic.endswith(end)), "")
        stem = topic.removesuffix(end)
        owner = next((name for name in names if end and stem.startswith(f"{name}-")), None)
        if owner is not None:
            found.setdefault(owner, []).append(topic)
    return {group: tuple(theirs) for group, theirs in found.items()}


def with_left_out(
    reports: Iterable[GroupReport], left_out: Iterable[TopicName]
) -> tuple[GroupReport, ...]:
    """Return the reports, with a remark on each application whose inner topics do not move.

    Args:
        reports: The groups.
        left_out: Topics of the source that are not mirrored.
    """
    given = tuple(reports)
    theirs = streams_topics([each.group.name for each in given], left_out)
    return tuple(
        replace(each, remarks=(*each.remarks, _left_out(theirs[each.group.name])))
        if each.group.name in theirs
        else each
        for each in given
    )


def _left_out(topics: Iterable[TopicName]) -> Reason:
    return Reason.of(ReasonCode.STREAMS_TOPICS_LEFT_OUT, topics=shortened(list(topics), _NAMED))


def gone_at_source(
    entry: SeenGroup, there: Mapping[TopicPartition, Commit], at: int
) -> GroupReport:
    """Return the report on a group that the source no longer has, and the target still has.

    Args:
        entry: What the ledger knows of it.
        there: Its offsets on the target.
        at: When the source was seen so, in ms since 1970.
    """
    places = [f"{tp}: {commit.offset}" for tp, commit in sorted(there.items())]
    code = ReasonCode.GROUP_GONE_AT_SOURCE
    why = Reason.of(code, mirror=entry.mirror_group, places=shortened(places, _NAMED))
    return GroupReport(
        group=entry.client,
        mirror_group=entry.mirror_group,
        source_state="",
        target_state="",
        at=at,
        positions=(),
        type=entry.type,
        remarks=(why,),
    )
