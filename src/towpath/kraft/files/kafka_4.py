"""Properties of Kafka 3.9 that Kafka 4 ignores or refuses. Pure.

From `AbstractKafkaConfig.CONFIG_DEF` of Kafka 3.9.2 beside those of 4.0.0 and 4.4.0: keys that are
not defined any more, and lower bounds that were raised (KIP-1030).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

GONE = frozenset(
    {
        "alter.config.policy.kraft.compatibility.enable",
        "auto.include.jmx.reporter",
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "delegation.token.master.key",
        "eligible.leader.replicas.enable",
        "group.coordinator.new.enable",
        "group.share.enable",
        "group.share.max.groups",
        "inter.broker.protocol.version",
        "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "offsets.commit.required.acks",
        "reserved.broker.max.id",
    }
)
"""Keys that Kafka 4 no longer defines; each is on the page for operators."""
GONE_PREFIXES = ("zookeeper.", "password.encoder.")
"""The same for whole groups of keys."""

LEAST = MappingProxyType(
    {
        "log.segment.bytes": 1 << 20,
        "metadata.log.segment.bytes": 8 << 20,
        "num.replica.fetchers": 1,
        "remote.log.manager.copier.thread.pool.size": 1,
        "remote.log.manager.expiration.thread.pool.size": 1,
    }
)
"""Least values with which Kafka 4 starts (4.0; `metadata.log` and `num.replica` 4.2 and newer)."""


def unknown(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of a file that Kafka 4 silently ignores."""
    yield from (key for key in properties if key in GONE or key.startswith(GONE_PREFIXES))


def refused(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield configs that Kafka 4 refuses, as `log.segment.bytes=1000 (at least 1048576)`."""
    for key, least in LEAST.items():
        value = properties.get(key, "").strip()
        if value.lstrip("-").isdecimal() and int(value) < least:
            yield f"{key}={value} (at least {least})"
