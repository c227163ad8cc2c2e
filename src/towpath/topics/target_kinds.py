"""Which kind of cluster the target is, as far as the configs of topics depend on it. Pure.

Apache Kafka, and what behaves like it, tells which configs it knows. Redpanda takes or ignores
configs of Kafka that mean nothing there, so for it there are lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

_OWN_KEYS = "redpanda."
_OWN_ID = "redpanda."
_CLOUD = ".cloud.redpanda.com"
_SERVERLESS_CELL, _OTHER_CELLS = ".mpx.", (".fmc.", ".byoc.")
"""What stands before that in the host names of Redpanda Serverless, and of its other clouds."""


class TargetKind(StrEnum):
    """The kind of a cluster, by the name that messages call it."""

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
"""The configs that Redpanda's own migrator (Redpanda Connect 4.106) sends to each of them."""


def kind_of(cluster_id: str, known: Iterable[str], hosts: Iterable[str]) -> TargetKind:
    """Return the kind of a cluster.

    Args:
        cluster_id: Redpanda begins it with its own name.
        known: The topic configs that it tells; Redpanda has some of its own.
        hosts: Where it was asked; Redpanda Serverless cannot be told apart by anything else.
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
    """Return the sentence about what could not be told of the kind, if anything."""
    sure = kind is not TargetKind.REDPANDA or all(
        host.endswith(_CLOUD) and any(cell in host for cell in _OTHER_CELLS) for host in hosts
    )
    return "" if sure else _UNCERTAIN


_UNCERTAIN = (
    "the target is Redpanda; Redpanda Serverless, which takes fewer topic configs, can be told"
    f" from it by host names that end with {_CLOUD} alone, so topics may be refused if it is"
    " that: exclude the configs named then under `topics.configs`"
)


def taken(kind: TargetKind, known: Collection[str]) -> frozenset[str]:
    """Return the configs that such a cluster takes, of those that it knows."""
    return frozenset(known) & _KEYS.get(kind, frozenset(known))
