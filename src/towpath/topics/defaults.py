"""The topic configs that the target knows, and its defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, ConfigSource
from towpath.model.errors import RefusedError
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.topics.releases import LEAST

_INVALID_CONFIG = "INVALID_CONFIG"
_REPLICAS, _REQUEST_BYTES = "default.replication.factor", "socket.request.max.bytes"

DEFAULTS = {
    "cleanup.policy": (("log.cleanup.policy", 0),),
    "max.message.bytes": (("message.max.bytes", 0),),
    "message.timestamp.type": (("log.message.timestamp.type", 0),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 0),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
}
"""The broker configs that give the default of each topic config; the first one that is set counts.
Each has the factor to the topic config's unit, 0 if the value is not a number of units."""

_ASKED = (*(name for names in DEFAULTS.values() for name, _ in names), _REPLICAS, _REQUEST_BYTES)


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults and limits of the target's brokers.

    Attributes:
        configs: The defaults of topic configs.
        replicas: The default replication factor.
        request_bytes: The largest request that brokers accept.
    """

    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None
    request_bytes: int | None = None


def ask_defaults(target: Admin) -> tuple[Defaults, list[Note]]:
    """Request the defaults from a target broker; a note says if the login lacks the right."""
    try:
        told = target.cluster.broker_configs(_ASKED)
    except RefusedError as error:
        what = "new mirror topics get the source's limits as configs of their own"
        text = f"{error}; until then {what}"
        return Defaults(), [Note("target", text)]
    values = {key: _first_set(told, names) for key, names in DEFAULTS.items()}
    known = {key: value for key, value in values.items() if value is not None}
    return Defaults(known, _number(told.get(_REPLICAS)), _number(told.get(_REQUEST_BYTES))), []


def keys(configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> frozenset[str]:
    """Return the changeable topic configs; the description of any topic lists them all."""
    entries = next(iter(configs.values()), {})
    return frozenset(key for key, entry in entries.items() if not entry.read_only)


def inherited(configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> dict[str, str]:
    """Return the target's defaults, as far as topics that inherit them show."""
    return {
        key: entry.value
        for entries in configs.values()
        for key, entry in entries.items()
        if key in DEFAULTS and entry.source is not ConfigSource.TOPIC and entry.value is not None
    }


def _first_set(told: Mapping[str, str], candidates: Sequence[tuple[str, int]]) -> str | None:
    for name, factor in candidates:
        value = told.get(name)
        if value is not None:
            # A negative number means "no limit" in any unit.
            return str(int(value) * factor) if factor and not value.startswith("-") else value
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def known_for(
    target: Admin, names: Sequence[TopicName], values: Mapping[str, Sequence[str]]
) -> frozenset[str]:
    """Return the changeable topic configs of a target that has no topic to describe.

    Brokers tell all configs that a new topic would have (KIP-525), if the login may see them. Else
    the given ones are tried: a config counts as known if the target takes any of its values.

    Args:
        target: The target.
        names: Names of topics that it does not have.
        values: Configs, each with values that topics may get.
    """
    if not names:
        return frozenset()
    if told := target.topics.configs_of_new(names[0]):
        return keys({names[0]: told})
    firsts = {key: each[0] for key, each in values.items()}
    if _takes(target, names[0], firsts):
        return frozenset(firsts)
    return frozenset(
        key
        for key, each in values.items()
        if any(_takes(target, names[0], {key: value}) for value in each)
    )


def least_taken(
    target: Admin, fresh: Sequence[TopicName], there: Sequence[TopicName], low: Mapping[str, str]
) -> dict[str, int]:
    """Return the lowest values that the target accepts, by config with a lower bound.

    Args:
        target: The target.
        fresh: Names of topics that it does not have.
        there: Names of mirror topics that it has.
        low: Configs, each with the lowest value that a topic has at the source.
    """

    def takes(key: str, value: str) -> bool:
        if fresh:
            return _takes(target, fresh[0], {key: value})
        refused = target.configs.check({there[0]: {key: value}}).get(there[0])
        return refused is None or refused.name != _INVALID_CONFIG

    asked = low if fresh or there else {}
    return {
        key: LEAST[key].value
        for key, value in asked.items()
        if not takes(key, value) and takes(key, str(LEAST[key].value))
    }


def replicas_possible(target: Admin, names: Sequence[TopicName], most: int) -> int:
    """Return how many replicas a new topic can have, up to `most`.

    Metadata omits brokers that are down, but the controller places replicas on them (KIP-631). A
    topic that was created with fewer replicas would keep that number.
    """
    living = len(target.cluster.brokers())
    if most <= living or not names:
        return living
    try:
        target.topics.create(names[0], 1, most, {}, validate_only=True)
    except RefusedError:
        return living
    return most


def _takes(target: Admin, name: TopicName, values: Mapping[str, str]) -> bool:
    try:
        target.topics.create(name, 1, 1, values, validate_only=True)
    except RefusedError as error:
        return error.name != _INVALID_CONFIG
    return True
