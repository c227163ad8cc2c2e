"""The target offsets of groups, and why some offsets cannot be translated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from towpath.groups.decide import MirrorPlace, TranslatedGroup
from towpath.groups.observe_groups import SourceView, TargetView
from towpath.groups.offset_maps import NOT_YET, Answer
from towpath.ledger.entries import Opened
from towpath.model.errors import TowpathError
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import TopicsConfig

_UNWANTED = Reason.of(ReasonCode.TOPIC_NOT_MIRRORED)
_RECREATED = Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
_DELETED = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)


def place(
    topics: TopicsConfig,
    tp: TopicPartition,
    opened: Opened | None,
    source: SourceView,
    target: TargetView,
) -> MirrorPlace:
    """Return the mirror partition of a source partition, and problems with either. Pure.

    Offsets mean nothing in a topic of the same name that was made later, on either side.

    Args:
        topics: Which topics the file asks for.
        tp: The source partition.
        opened: What the ledger knows of it, if anything.
        source: The source now.
        target: The target now.
    """
    if not topics.matches(tp.topic):
        return MirrorPlace(mirror=None, reason=_UNWANTED)
    if opened is None:
        return MirrorPlace(mirror=None, reason=NOT_YET)
    reason = _of_source(opened, source) or _of_target(opened, target)
    return MirrorPlace(mirror=opened.target, reason=reason)


def with_target_offsets(
    group: TranslatedGroup,
    places: dict[TopicPartition, MirrorPlace],
    answer: Callable[[TopicPartition, SourceOffset], Answer],
) -> TranslatedGroup:
    """Return a group with its translated offsets.

    Args:
        group: The group.
        places: All partitions that it stands in. Where there is no answer, as the runs of a
            partition are damaged, this gets the reason; the others go on.
        answer: Translates a position.
    """
    answers = {}
    for tp, commit in group.group.commits.items():
        if places[tp].reason is None:
            try:
                answers[tp] = answer(tp, SourceOffset(commit.offset))
            except TowpathError as error:
                places[tp] = MirrorPlace(mirror=places[tp].mirror, reason=error.reason)
    return replace(group, answers=answers)


def _of_source(opened: Opened, source: SourceView) -> Reason | None:
    if opened.topic in source.hidden:
        return source.hidden[opened.topic].reason
    now = source.ids.get(opened.topic)
    if now is None:
        return _DELETED
    return None if now == opened.source_topic_id else _RECREATED


def _of_target(opened: Opened, target: TargetView) -> Reason | None:
    there = target.topics.get(opened.target_topic)
    if there is not None and there.error is not None:
        return there.error.reason
    if there is None or there.id != opened.target_topic_id:
        return Reason.of(ReasonCode.TARGET_REPLACED, topic=opened.target_topic)
    return None
