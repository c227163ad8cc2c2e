"""Clusters as they would be observed, without any cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.support.links import link
from towpath.model.nouns import TopicId, TopicName
from towpath.plan.subject import Difference
from towpath.topics.diff import diff
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import NOTHING, OwnedTopics
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, TopicStep

KNOWN = (
    "retention.ms",
    "retention.bytes",
    "cleanup.policy",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.type",
    "min.insync.replicas",
    "segment.ms",
)
DEFAULTS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}


def topic(
    name: str = "orders",
    partitions: int = 1,
    replicas: int = 1,
    own: Mapping[str, str] | None = None,
    configs: Mapping[str, str] | None = None,
) -> Topic:
    """Return a topic; its configs are the defaults, then `configs`, then its own."""
    all_of_them = {**DEFAULTS, **(configs or {}), **(own or {})}
    return Topic(
        TopicName(name), TopicId(f"id-{name}"), partitions, replicas, own or {}, all_of_them
    )


def observed(*source: Topic, target: tuple[Topic, ...] = (), brokers: int = 3) -> ObservedTopics:
    """Return two clusters whose topics have the same names."""
    return ObservedTopics(
        source=source,
        names={each.name: each.name for each in source},
        target={each.name: each for each in target},
        brokers=brokers,
        known=frozenset(KNOWN),
        defaults=DEFAULTS,
    )


def compare(
    found: ObservedTopics, start: str = "latest", ours: OwnedTopics = NOTHING, **options: Any
) -> Difference[TopicStep]:
    """Return the difference under a file with these options of `link`."""
    records = {"start": start, "group": "g" if start == "committed" else None}
    return diff(found, link("a:1", "b:1", ".*", records=records, **options), ours)


def only(found: Difference[TopicStep]) -> TopicStep:
    """Return the one step."""
    (step,) = found.steps
    return step


def created(found: Difference[TopicStep]) -> CreateTopic:
    """Return the one step, which creates."""
    step = only(found)
    assert isinstance(step, CreateTopic)
    return step


def creations(found: Difference[TopicStep]) -> list[CreateTopic]:
    """Return the steps that create."""
    return [step for step in found.steps if isinstance(step, CreateTopic)]


def notes(found: Difference[TopicStep]) -> list[str]:
    """Return the texts of all notes."""
    return [note.text for note in found.notes]


def done(
    steps: Iterable[TopicStep],
    before: ObservedTopics,
    defaults: Mapping[str, str] = DEFAULTS,
    replicas: int = 1,
) -> ObservedTopics:
    """Return what a target, with these defaults, would be after steps whose preconditions hold."""
    there = dict(before.target)
    orphans = before.orphans
    for step in steps:
        name = step.target
        match step:
            case CreateTopic():
                assert name not in there
                factor = step.replication_factor if step.replication_factor > 0 else replicas
                own = {key: told(value) for key, value in step.configs.items()}
                number = TopicId(f"id-{name}")
                made = Topic(name, number, step.partitions, factor, own, {**defaults, **own})
                there[name] = made
            case AddPartitions():
                assert there[name].partitions == step.from_count < step.to_count
                there[name] = replace(there[name], partitions=step.to_count)
            case SetConfigs():
                own = dict(there[name].own)
                assert step.before == {key: own.get(key) for key in step.changes}
                assert step.id == there[name].id
                own = {**own, **{key: told(value) for key, value in step.set.items()}}
                own = {key: value for key, value in own.items() if key not in step.remove}
                there[name] = replace(there[name], own=own, configs={**defaults, **own})
            case DeleteTopic():
                orphans = tuple(each for each in orphans if each.mirror.name != name)
    return replace(before, target=there, orphans=orphans)


def told(value: str) -> str:
    """Return a value as brokers tell it that were given it so."""
    text = value.strip()
    return str(int(text)) if text.lstrip("+-").isdecimal() else text
