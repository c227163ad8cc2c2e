"""Topic configs that one release of Kafka accepts and another does not. Pure.

The keys and bounds are those of Kafka's `LogConfig` in 3.9.2, 4.1.2, 4.3.1 and 4.4.0, tried on
brokers. Whether the target takes a value is asked of the target; the table tells what to ask, and
why it is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.model.findings import Heading, Note
from towpath.settings import ConfigRules
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.steps import CreateTopic, SetConfigs, TopicStep

LATEST = "message.timestamp.after.max.ms"
SEGMENT_BYTES = "segment.bytes"


@dataclass(frozen=True, slots=True)
class Least:
    """The lowest value of a config that a release accepts.

    Attributes:
        value: The value.
        since: The release, as (4, 1).
    """

    value: int
    since: tuple[int, int]


LEAST: Mapping[str, Least] = {
    SEGMENT_BYTES: Least(1 << 20, (4, 1)),
    "segment.ms": Least(60_000, (5, 0)),
    "segment.index.bytes": Least(1024, (5, 0)),
    "max.compaction.lag.ms": Least(60_000, (5, 0)),
}
"""Least values that are higher than in older releases (KIP-1030; for topics KAFKA-19080)."""

_GONE = {
    "message.format.version": "brokers store records in the newest format",
    "message.timestamp.difference.max.ms": (
        "message.timestamp.before.max.ms and message.timestamp.after.max.ms have its place, which"
        " can be set there after the cutover"
    ),
    "message.downconversion.enable": "brokers no longer convert records for older consumers",
}
"""Configs that Kafka 4.0 removed, each with what holds instead (KIP-724, KIP-937)."""

_SINCE = {
    "compression.gzip.level": "3.8",
    "compression.lz4.level": "3.8",
    "compression.zstd.level": "3.8",
    "errors.deadletterqueue.group.enable": "4.4",
    "max.decompressed.message.bytes": "4.4",
    "message.timestamp.after.max.ms": "3.6",
    "message.timestamp.before.max.ms": "3.6",
    "remote.copy.lag.bytes": "4.4",
    "remote.copy.lag.ms": "4.4",
    "remote.log.copy.disable": "3.9",
    "remote.log.delete.on.disable": "3.9",
}
"""The first release that knows a config."""


def explained(key: str, seen: ObservedTopics) -> bool:
    """Return whether the table of releases explains that the target does not know a config."""
    return key not in seen.known and (key in _GONE or key in _SINCE)


def raised(key: str, value: str, seen: ObservedTopics) -> str:
    """Return a config's value, raised to the lowest one that the target accepts."""
    least = seen.least.get(key)
    return value if least is None or _number(value) >= least else str(least)


def too_low(topics: Iterable[Topic], rules: ConfigRules) -> dict[str, str]:
    """Return the lowest value of each config that a release may reject, to ask the target."""
    found: dict[str, str] = {}
    for topic in topics:
        for key in LEAST.keys() & topic.own.keys() - rules.override.keys():
            value = topic.own[key]
            low = _number(value) < min(LEAST[key].value, _number(found.get(key, "")))
            if low and rules.selects(key):
                found[key] = value
    return found


def release_notes(
    topic: Topic, steps: Iterable[TopicStep], seen: ObservedTopics, rules: ConfigRules
) -> Iterator[Note]:
    """Yield notes on a topic whose configs differ in meaning in the target's release.

    Args:
        topic: The source topic.
        steps: The steps about its mirror topic; what an earlier step has set is not said again.
        seen: The topics of both clusters.
        rules: The rules in the file.
    """
    for text in _raised(topic, steps, seen, rules):
        yield Note(topic.name, text, Heading.REFUSED)
    for key in sorted(topic.own.keys() - rules.override.keys()):
        if not rules.selects(key) or not explained(key, seen):
            continue
        if key in _GONE:
            text = f"{key} is not copied: Kafka 4.0 removed it, and {_GONE[key]}"
            yield Note(topic.name, text, Heading.REFUSED)
        else:
            text = (
                f"{key}={topic.own[key]} is not copied: Kafka knows it from {_SINCE[key]} on, and"
                f" the target is Kafka {seen.release}"
            )
            yield Note(topic.name, text, Heading.UNKNOWN)


def later_notes(seen: ObservedTopics) -> Iterator[Note]:
    """Yield notes on configs that a later release of Kafka will reject."""
    for topic in seen.source:
        for key in sorted(LEAST.keys() & topic.own.keys()):
            least = LEAST[key]
            if _number(topic.own[key]) < least.value and key not in seen.least:
                release = ".".join(map(str, least.since))
                text = f"{key}={topic.own[key]}: Kafka {release} takes {least.value} or more"
                yield Note(topic.name, text, Heading.LATER)


def _raised(
    topic: Topic, steps: Iterable[TopicStep], seen: ObservedTopics, rules: ConfigRules
) -> Iterator[str]:
    """Yield texts about values that steps set because the target refuses the source's, or more."""
    for step in steps:
        if not isinstance(step, CreateTopic | SetConfigs):
            continue
        final = {**(step.configs if isinstance(step, CreateTopic) else step.set), **step.held}
        for key in sorted(final.keys() - rules.override.keys()):
            value, own = final[key], topic.own.get(key)
            if value is None:
                continue
            if own is not None and own != value and raised(key, own, seen) == value:
                yield (
                    f"{key} is set to {value}, the least that the target takes; the source has less"
                )
            if key == LATEST and tells_times(topic, seen) and value == topic.configs.get(key):
                yield (
                    f"{key} is set to {value}, as on the source: the target's default is"
                    f" {seen.defaults[key]}, with which it would refuse records of later times"
                )


def tells_times(topic: Topic, seen: ObservedTopics) -> bool:
    """Return whether the target rejects future timestamps that the source accepts (KIP-1030)."""
    ours, theirs = topic.configs.get(LATEST), seen.defaults.get(LATEST)
    return ours is not None and theirs is not None and 0 <= _number(theirs) < _number(ours)


def _number(value: str) -> float:
    """Return a number, infinity for what is none or has no bound."""
    try:
        found = int(value)
    except ValueError:
        return float("inf")
    return float("inf") if found < 0 else found
