"""The forecast of a run's decisions about partitions that no run has opened yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers
from towpath.ledger.books import LinkBooks
from towpath.mirror.plan.gaps import to_fill
from towpath.mirror.plan.record_age import history
from towpath.mirror.plan.starts import (
    Offsets,
    beginnings,
    commits_of,
    from_group,
    looks_first,
)
from towpath.mirror.status.deleted import Stretch
from towpath.mirror.status.overtaken import overtaken
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import SourceOffset, TargetOffset, TopicId, TopicName, TopicPartition
from towpath.plan.subject import Difference
from towpath.records.modes import why_mapped
from towpath.records.source.beginnings import PATIENCE, find_starts
from towpath.records.trouble import recreated_topic_message
from towpath.settings import ConfigRules, LinkConfig, OffsetsPolicy, StartAt
from towpath.topics.configs import final_policy
from towpath.topics.observed import ObservedTopics
from towpath.topics.steps import CreateTopic, TopicStep

Finding = Note | Problem


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast for new partitions: findings and start offsets.

    Attributes:
        findings: What a person should know of it.
        begins: The first source offset to copy of each new partition, as far as known.
        before: What the source has before `records.start` of new partitions.
    """

    findings: Sequence[Finding] = ()
    begins: Offsets = field(default_factory=dict)
    before: Mapping[TopicPartition, Stretch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Fresh:
    source: TopicPartition
    target: TopicPartition
    source_id: TopicId
    exists: bool
    compacted: bool
    again: bool
    """The source topic was deleted and created again after it was copied."""


def forecast(
    config: LinkConfig,
    source: Admin,
    target: Admin,
    books: LinkBooks,
    seen: ObservedTopics,
    found: Difference[TopicStep],
    fill: int = 0,
) -> Forecast:
    """Return a forecast of a run's decisions about each new partition.

    Args:
        config: The link.
        source: The source cluster.
        target: The target cluster.
        books: What the ledger says of the link.
        seen: The topics of both clusters.
        found: How the target differs from the file.
        fill: Most offsets of a partition that compaction left empty and that may be filled.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    fresh = list(_fresh(books, seen, found, config.topics.configs))
    further = overtaken(config, source, books)
    noted: list[Finding] = [Note("records.group", str(further))] if further else []
    again = {each.source.topic for each in fresh if each.again}
    names = {name for name in again if config.records.stops_on_gap(name)}
    noted += [Problem(name, recreated_topic_message(name), Cause.TOPIC) for name in names]
    fresh = [each for each in fresh if each.source.topic not in names]
    if not fresh:
        return Forecast(noted)
    begins, said = _begins(config, source, books, fresh, seen.begins)
    ends = target.offsets.latest([each.target for each in fresh if each.exists], patience=PATIENCE)
    mapped = _mapped(config, fresh, begins, ends, fill)
    told = [*_told(config.records.offsets, mapped), *_filled(source, fresh, mapped, fill)]
    aged = history(source, target, {tp: at for tp, at in begins.items() if at >= 0})
    asked = {tp: at for tp, at in begins.items() if tp not in seen.begins}
    before = _before(config, source, asked)
    return Forecast([*noted, *said, *told, *aged], begins, before)


def _before(config: LinkConfig, source: Admin, begins: Offsets) -> dict[TopicPartition, Stretch]:
    """Return the source offsets that lie before the start that the file asks for."""
    later = {tp: at for tp, at in begins.items() if at > 0}
    if config.records.start is StartAt.EARLIEST or not later:
        return {}
    firsts = source.offsets.earliest(later, patience=PATIENCE)
    return {
        tp: (SourceOffset(firsts[tp]), SourceOffset(at))
        for tp, at in later.items()
        if firsts.get(tp, at) < at
    }


def _filled(
    source: Admin, fresh: Iterable[_Fresh], mapped: Collection[TopicName], fill: int
) -> Iterator[Note]:
    """Tell what it takes to fill the offsets that compaction left empty."""
    holed = [each.source for each in fresh if each.compacted and each.source.topic not in mapped]
    if not fill or not holed:
        return
    offsets: dict[TopicName, dict[int, int]] = defaultdict(dict)
    for tp, end in source.offsets.latest(holed, committed=True, patience=PATIENCE).items():
        offsets[tp.topic][tp.partition] = end
    for topic, ends in offsets.items():
        yield from to_fill(topic, ends, fill)


def _mapped(
    config: LinkConfig, fresh: Iterable[_Fresh], begins: Offsets, ends: Offsets, fill: int
) -> dict[TopicName, list[str]]:
    """Return the reasons why partitions will be mapped, as far as they are known yet."""
    mapped: dict[TopicName, list[str]] = defaultdict(list)
    for each in fresh:
        if each.source not in begins or (each.exists and each.target not in ends):
            continue
        why = why_mapped(
            config.records.offsets,
            SourceOffset(begins[each.source]),
            TargetOffset(ends.get(each.target, 0)),
            compacted=each.compacted,
            fill=fill,
            change=config.change_of(each.source.topic),
            two_ways=config.topics.twin is not None,
        )
        if why is not None:
            mapped[each.source.topic].append(f"partition {each.source.partition}: {why}")
    return mapped


def _fresh(
    books: LinkBooks, seen: ObservedTopics, found: Difference[TopicStep], rules: ConfigRules
) -> Iterator[_Fresh]:
    made = {step.source: step.configs for step in found.steps if isinstance(step, CreateTopic)}
    made_again = books.made_again({topic.name: topic.id for topic in seen.source})
    for topic in seen.source:
        if topic.name not in found.topics:
            continue
        name = found.topics[topic.name]
        copy = seen.target.get(name)
        configs = copy.configs if copy else made[topic.name]
        compacted = "compact" in final_policy(topic, configs, rules)
        for number in range(topic.partitions):
            tp = TopicPartition(topic.name, number)
            opened = books.of(tp).opened
            ids = (opened.source_topic_id, opened.target_topic_id) if opened else None
            if copy is None or ids != (topic.id, copy.id):
                exists = copy is not None and number < copy.partitions
                again = topic.name in made_again
                yield _Fresh(tp, TopicPartition(name, number), topic.id, exists, compacted, again)


def _begins(
    config: LinkConfig, source: Admin, books: LinkBooks, fresh: list[_Fresh], cut_over: Offsets
) -> tuple[Offsets, list[Finding]]:
    others = [each for each in fresh if each.source not in cut_over]
    back = {each.source: each.source_id for each in fresh if each.source in cut_over}
    found, said = _as_asked(config, source, books, others) if others else ({}, [])
    if not back:
        return found, said
    asked = beginnings(config.records, source, books, back, cut_over)
    starts, told = _as_told(find_starts(source, asked))
    return {**found, **starts}, [*said, *told]


def _as_asked(
    config: LinkConfig, source: Admin, books: LinkBooks, fresh: list[_Fresh]
) -> tuple[Offsets, list[Finding]]:
    tps = [each.source for each in fresh]
    records = config.records
    if looks_first(records, books):
        return _as_told(source.offsets.latest(tps, committed=True, patience=PATIENCE))
    if records.start is not StartAt.COMMITTED:
        ids = {each.source: each.source_id for each in fresh}
        return _as_told(find_starts(source, beginnings(records, source, books, ids)))
    earliest, said = _as_told(source.offsets.earliest(tps, patience=PATIENCE))
    group = records.group or ""
    committed, beyond = commits_of(source, group, tps)
    without = [str(tp) for tp in tps if tp not in {*committed, *beyond}]
    said += [_beyond(group, beyond, len(tps))] if beyond else []
    known = books.begun or records.commit is not None  # a group of its own begins with nothing
    said += [_uncommitted(group, without, len(tps), known=known)] if without else []
    return from_group(committed, earliest), said


def _as_told(
    found: Answers[TopicPartition, int] | Answers[TopicPartition, SourceOffset],
) -> tuple[Offsets, list[Finding]]:
    """Return the offsets from the leaders, and a note about partitions without an answer."""
    if not found.failed:
        return found, []
    error = next(iter(found.failed.values()))
    if not found:
        raise error
    of = f"{len(found.failed)} of {len(found) + len(found.failed)} new partitions"
    return found, [Note("partitions", f"{error}; so it is not known yet where {of} begin")]


def _uncommitted(group: str, without: list[str], of: int, *, known: bool) -> Finding:
    """Tell which partitions have no committed offset of the group: they begin at earliest."""
    if len(without) == of and not known:
        text = (
            f"group {group} has committed no offset on any of the {of} new partitions;"
            " correct its name, or take `start: earliest`"
        )
        return Problem("records.group", text, Cause.FILE)
    text = (
        f"group {group} has committed no offset on {len(without)} of {of} new partitions,"
        f" such as {without[0]}; they are copied from earliest"
    )
    return Note("records.group", text)


def _beyond(group: str, beyond: Mapping[TopicPartition, tuple[int, int]], of: int) -> Note:
    """Tell which partitions end before the commit of the group: they begin at earliest."""
    tp = min(beyond)
    at, end = beyond[tp]
    text = (
        f"group {group} stands at offset {at} of {tp}, which ends at {end}, and beyond the end of"
        f" {len(beyond)} of {of} new partitions in all: another log was there when it committed,"
        " so they are copied from earliest"
    )
    return Note("records.group", text)


def _told(policy: OffsetsPolicy, mapped: Mapping[TopicName, list[str]]) -> Iterator[Finding]:
    for topic, reasons in mapped.items():
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        if policy is OffsetsPolicy.IDENTICAL:
            text = (
                f"offsets cannot stay identical: {reasons[0]}{more}; set `records.offsets: auto` to"
                " have such partitions mapped"
            )
            yield Problem(topic, text, Cause.TOPIC)
        elif policy is OffsetsPolicy.AUTO:
            yield Note(topic, f"offsets will be mapped: {reasons[0]}{more}")
