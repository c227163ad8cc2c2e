"""The kinds of clusters that a target can be, with the topic configs that each is sent. Pure.

Apache Kafka tells which configs it knows. Redpanda accepts or ignores Kafka configs that have no
meaning there, so there is a list for it.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class TargetKind(StrEnum):
    """The kinds of clusters; the value is the name in messages."""

    KAFKA = "Kafka"
    REDPANDA = "Redpanda"
    SERVERLESS = "Redpanda Serverless"


_CONFIGS = {
    TargetKind.REDPANDA: frozenset(
        {
            "cleanup.policy",
            "compression.type",
            "flush.bytes",
            "flush.ms",
            "initial.retention.local.target.ms",
            "max.message.bytes",
            "message.timestamp.type",
            "retention.bytes",
            "retention.ms",
            "segment.bytes",
            "segment.ms",
        }
    ),
    TargetKind.SERVERLESS: frozenset(
        {
            "cleanup.policy",
            "max.message.bytes",
            "retention.ms",
            "write.caching",
        }
    ),
}
"""The configs that Redpanda's own migrator (Redpanda Connect 4.106) sends to each kind."""


def accepted_configs(kind: TargetKind, known: Collection[str]) -> frozenset[str]:
    """Return the known configs that a cluster of this kind accepts."""
    return frozenset(known) & _CONFIGS.get(kind, frozenset(known))


def refused_overrides(kind: TargetKind | None, overrides: Collection[str]) -> tuple[str, ...]:
    """Return configs that a cluster of this kind refuses, also where a file asks for them.

    Redpanda has more configs than those that it is sent; Redpanda Serverless has not.
    """
    if kind is not TargetKind.SERVERLESS:
        return ()
    return tuple(sorted(set(overrides) - _CONFIGS[kind]))


def refusal(kind: TargetKind, config: str) -> str:
    """Return the sentence about a config that a file asks for and this kind refuses."""
    taken = ", ".join(sorted(_CONFIGS[kind]))
    return f"{kind} does not take {config}; it takes {taken}: remove it"
