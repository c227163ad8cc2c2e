"""What becomes of partitions that no run has opened yet, told before a run does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig, OffsetsPolicy, OnGap, StartAt
from towpath.ledger.books import LinkBooks
from towpath.model.nouns import Mode, TopicName, TopicPartition
from towpath.plan.starts import Offsets, from_group, starts
from towpath.records.modes import mode_at_opening
from towpath.records.trouble import RECREATED
from towpath.topics.diff import Difference
from towpath.topics.findings import Cause, Note, Obstacle
from towpath.topics.observe import Observed
from towpath.topics.steps import CreateTopic


@dataclass(slots=True)
class Forecast:
    """What a person should know about partitions that are new to the link."""

    notes: list[Note] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Fresh:
    source: TopicPartition
    target: TopicPartition
    exists: bool
    compacted: bool
    again: bool
    """The topic was deleted and created again at the source since it was copied."""


def forecast(
    config: LinkConfig, source: Admin, target: Admin, books: LinkBooks, seen: Observed,
    found: Difference,
) -> Forecast:  # fmt: skip
    """Return what a run would decide about each new partition.

    Raises:
        ClusterError: A cluster cannot be asked.
    """
    told = Forecast()
    fresh = list(_fresh(books, seen, found))
    if config.records.on_gap is OnGap.STOP:
        again = {each.source.topic for each in fresh if each.again}
        told.obstacles += [Obstacle(name, f"source: {RECREATED}", Cause.TOPIC) for name in again]
        fresh = [each for each in fresh if each.source.topic not in again]
    if not fresh:
        return told
    begins = _begins(config, source, books, fresh, told)
    ends = target.latest([each.target for each in fresh if each.exists])
    mapped: dict[TopicName, list[str]] = defaultdict(list)
    for each in fresh:
        if each.source not in begins or (each.exists and each.target not in ends):
            continue
        mode, reason = mode_at_opening(
            config.records.offsets, begins[each.source], ends.get(each.target, 0),
            compacted=each.compacted,
        )  # fmt: skip
        if mode is Mode.MAPPED:
            mapped[each.source.topic].append(f"partition {each.source.partition}: {reason}")
    _tell(config.records.offsets, mapped, told)
    return told


def _fresh(books: LinkBooks, seen: Observed, found: Difference) -> Iterator[_Fresh]:
    made = {step.source: step.configs for step in found.steps if isinstance(step, CreateTopic)}
    made_again = books.made_again({topic.name: topic.id for topic in seen.source})
    for topic in seen.source:
        if topic.name not in found.topics:
            continue
        name = found.topics[topic.name]
        copy = seen.target.get(name)
        settings = copy.settings if copy else made[topic.name]
        compacted = "compact" in settings.get("cleanup.policy", "")
        for number in range(topic.partitions):
            tp = TopicPartition(topic.name, number)
            opened = books.of(tp).opened
            ids = (opened.source_topic_id, opened.target_topic_id) if opened else None
            if copy is None or ids != (topic.id, copy.id):
                exists = copy is not None and number < copy.partitions
                again = topic.name in made_again
                yield _Fresh(tp, TopicPartition(name, number), exists, compacted, again)


def _begins(
    config: LinkConfig, source: Admin, books: LinkBooks, fresh: list[_Fresh], told: Forecast
) -> Offsets:
    tps = [each.source for each in fresh]
    earliest, latest = source.earliest(tps), source.latest(tps, committed=True)
    records = config.records
    if records.start is StartAt.COMMITTED:
        committed = source.committed(records.group or "", tps)
        _uncommitted(records.group or "", committed, tps, told, begun=books.begun)
        return from_group(committed, earliest)
    return starts(records, source, tps, earliest, latest, begun=books.begun)


def _uncommitted(
    group: str, committed: Offsets, tps: list[TopicPartition], told: Forecast, *, begun: bool
) -> None:
    """Tell of partitions on which the group has no offset, for they are copied from earliest."""
    without = [str(tp) for tp in tps if tp not in committed]
    if without and not committed and not begun:
        text = (
            f"group {group} has committed no offset on any of the {len(tps)} new partitions;"
            " correct its name, or take `start: earliest`"
        )
        told.obstacles.append(Obstacle("records.group", text, Cause.FILE))
    elif without:
        text = (
            f"group {group} has committed no offset on {len(without)} of {len(tps)} new partitions,"
            f" such as {without[0]}; they are copied from earliest"
        )
        told.notes.append(Note("records.group", text))


def _tell(policy: OffsetsPolicy, mapped: Mapping[TopicName, list[str]], told: Forecast) -> None:
    for topic, reasons in mapped.items():
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        if policy is OffsetsPolicy.IDENTICAL:
            text = (
                f"offsets cannot stay identical: {reasons[0]}{more}; set `records.offsets: auto` to"
                " have such partitions mapped"
            )
            told.obstacles.append(Obstacle(topic, text, Cause.TOPIC))
        elif policy is OffsetsPolicy.AUTO:
            told.notes.append(Note(topic, f"offsets will be mapped: {reasons[0]}{more}"))
