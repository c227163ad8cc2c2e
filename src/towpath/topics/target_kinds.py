"""The kind of cluster that the target is, which determines its topic configs. Pure.

Apache Kafka tells which configs it knows. Redpanda accepts or ignores Kafka configs that have no
meaning there, so there is a list for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

_OWN_KEYS = "redpanda."
_OWN_ID = "redpanda."
_CLOUD = ".cloud.redpanda.com"
_SERVERLESS_CELL, _OTHER_CELLS = ".mpx.", (".fmc.", ".byoc.")
"""Parts of host names before `_CLOUD`: of Redpanda Serverless, and of Redpanda's other clouds."""


class TargetKind(StrEnum):
    """The kinds of clusters; the value is the name in messages."""

    KAFKA = "Kafka"
    REDPANDA = "Redpanda"
    SERVERLESS = "Redpanda Serverless"


_KEYS = {
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


SERVERLESS_CONFIGS = tuple(sorted(_KEYS[TargetKind.SERVERLESS]))
"""The topic configs that Redpanda Serverless accepts."""


def kind_of(cluster_id: str, known: Iterable[str], hosts: Iterable[str]) -> TargetKind:
    """Return the kind of a cluster.

    Args:
        cluster_id: The cluster id; that of Redpanda begins with `redpanda.`.
        known: The topic configs that it tells; Redpanda has some of its own.
        hosts: The bootstrap hosts; nothing else identifies Redpanda Serverless.
    """
    hosts = list(hosts)
    if any(host.endswith(_CLOUD) and _SERVERLESS_CELL in host for host in hosts):
        return TargetKind.SERVERLESS
    cloud = any(host.endswith(_CLOUD) for host in hosts)
    own = any(key.startswith(_OWN_KEYS) for key in known)
    return (
        TargetKind.REDPANDA if cloud or own or cluster_id.startswith(_OWN_ID) else TargetKind.KAFKA
    )


def uncertain(kind: TargetKind, hosts: Iterable[str]) -> str:
    """Return a sentence if the kind is uncertain, else ""."""
    sure = kind is not TargetKind.REDPANDA or all(
        host.endswith(_CLOUD) and any(cell in host for cell in _OTHER_CELLS) for host in hosts
    )
    return "" if sure else _UNCERTAIN


_UNCERTAIN = (
    "the target is Redpanda; Redpanda Serverless, which accepts fewer topic configs, is recognised"
    f" only by host names that end with {_CLOUD}; if it is Serverless it may refuse topics: then"
    " exclude the configs that it names under `topics.configs`"
)


def accepted_configs(kind: TargetKind, known: Collection[str]) -> frozenset[str]:
    """Return the known configs that a cluster of this kind accepts."""
    return frozenset(known) & _KEYS.get(kind, frozenset(known))
