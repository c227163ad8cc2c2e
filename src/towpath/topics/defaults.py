"""What the target knows of topic configs, and what it gives topics that say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, ConfigSource
from towpath.model.errors import RefusedError
from towpath.model.findings import Note
from towpath.model.nouns import TopicName

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
}
"""Broker configs that a topic without its own value follows, the first one set; each with the
factor to the topic's unit, 0 for what is no such number."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the brokers of the target tell of themselves.

    Attributes:
        configs: Topic configs with the values that topics without own ones have.
        replicas: The replication factor of topics that ask for none.
        request_bytes: The largest request that is taken.
    """

    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None
    request_bytes: int | None = None


def ask_defaults(target: Admin) -> tuple[Defaults, list[Note]]:
    """Ask a broker of the target; where the login may not, a note says so."""
    try:
        asked = {key: _first_set(target, names) for key, names in DEFAULTS.items()}
        replicas, size = (
            _number(target.cluster.broker_config(key)) for key in (_REPLICAS, _REQUEST_BYTES)
        )
    except RefusedError as error:
        what = "new mirror topics get the source's limits as configs of their own"
        text = f"{error}; until then {what}"
        return Defaults(), [Note("target", text)]
    told = {key: value for key, value in asked.items() if value is not None}
    return Defaults(told, replicas, size), []


def keys(configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> frozenset[str]:
    """Return the configs that a cluster lets us change: each topic tells all of them."""
    entries = next(iter(configs.values()), {})
    return frozenset(key for key, entry in entries.items() if not entry.read_only)


def inherited(configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> dict[str, str]:
    """Return the target's defaults as far as topics without own values show them."""
    return {
        key: entry.value
        for entries in configs.values()
        for key, entry in entries.items()
        if key in DEFAULTS and entry.source is not ConfigSource.TOPIC and entry.value is not None
    }


def _first_set(target: Admin, candidates: Sequence[tuple[str, int]]) -> str | None:
    for name, factor in candidates:
        value = target.cluster.broker_config(name)
        if value is not None:
            # Negative numbers mean "no limit" in every unit.
            return str(int(value) * factor) if factor and not value.startswith("-") else value
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def accepted(
    target: Admin, names: Sequence[TopicName], values: Mapping[str, str]
) -> frozenset[str]:
    """Return the configs in question that the target would create a topic with."""
    if not names:
        return frozenset()
    if _takes(target, names[0], values):
        return frozenset(values)
    return frozenset(key for key, v in values.items() if _takes(target, names[0], {key: v}))


def replicas_possible(target: Admin, names: Sequence[TopicName], most: int) -> int:
    """Return how many replicas a new topic can have, `most` being more than anybody asks for.

    Brokers that are down are not among those that a cluster names, yet it places replicas on them
    (KIP-631), and a topic that was made with fewer would keep these for ever.
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
