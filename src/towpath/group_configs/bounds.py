"""The bounds that a target's brokers set for configs of groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_RANGES = {
    "consumer.assignment.interval.ms": "group.consumer.{}.assignment.interval.ms",
    "consumer.heartbeat.interval.ms": "group.consumer.{}.heartbeat.interval.ms",
    "consumer.session.timeout.ms": "group.consumer.{}.session.timeout.ms",
    "share.assignment.interval.ms": "group.share.{}.assignment.interval.ms",
    "share.delivery.count.limit": "group.share.{}.delivery.count.limit",
    "share.heartbeat.interval.ms": "group.share.{}.heartbeat.interval.ms",
    "share.partition.max.record.locks": "group.share.{}.partition.max.record.locks",
    "share.record.lock.duration.ms": "group.share.{}.record.lock.duration.ms",
    "share.session.timeout.ms": "group.share.{}.session.timeout.ms",
    "streams.assignment.interval.ms": "group.streams.{}.assignment.interval.ms",
    "streams.heartbeat.interval.ms": "group.streams.{}.heartbeat.interval.ms",
    "streams.num.standby.replicas": "group.streams.{}.standby.replicas",
    "streams.session.timeout.ms": "group.streams.{}.session.timeout.ms",
}
"""The broker configs of the least and the largest value, by config of a group; where brokers have
no such config, there is no such bound (`GroupConfig.validateValues` in Kafka 4.4)."""
_ENDS = ("min", "max")
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_PREFIX = "errors.deadletterqueue.topic.name.prefix"
"""The broker config without whose value at the beginning no topic gets dead letters (KIP-1191). A
broker takes other names for a group all the same, and logs each dead letter that it then drops
(`ShareGroupDLQStateManager` in Kafka 4.4)."""


def bounding(keys: Iterable[str]) -> frozenset[str]:
    """Return the broker configs that bound these configs of groups."""
    asked = frozenset(keys)
    ends = {_RANGES[key].format(end) for key in asked if key in _RANGES for end in _ENDS}
    return frozenset({*ends, _PREFIX} if DEAD_LETTERS in asked else ends)


def gets_no_letters(topic: str, brokers: Mapping[str, str]) -> str:
    """Return why brokers would write no dead letters into a topic, "" if nothing known forbids it.

    Args:
        topic: Its name; "" for none, as groups have that want no dead letters.
        brokers: The configs of a broker of the target.
    """
    prefix = brokers.get(_PREFIX, "")
    if not topic or topic.startswith(prefix):
        return ""
    return (
        "the target's brokers write dead letters only into topics whose names begin with"
        f" {prefix} ({_PREFIX})"
    )


def out_of_bounds(key: str, value: str, brokers: Mapping[str, str]) -> str:
    """Return why brokers would reject a value, "" if no known bound forbids it.

    Args:
        key: The config of a group.
        value: Its value.
        brokers: The configs of a broker of the target.
    """
    if key not in _RANGES or not _is_number(value):
        return ""
    least, most = (_RANGES[key].format(end) for end in _ENDS)
    if _is_number(brokers.get(least)) and int(value) < int(brokers[least]):
        return f"the target's brokers allow no less than {brokers[least]} ({least})"
    if _is_number(brokers.get(most)) and int(value) > int(brokers[most]):
        return f"the target's brokers allow no more than {brokers[most]} ({most})"
    return ""


def _is_number(text: str | None) -> bool:
    return text is not None and text.lstrip("-").isdigit()
