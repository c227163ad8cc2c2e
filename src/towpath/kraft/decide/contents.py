"""Checks for topics, ACLs and configs that would make a migration fail. Pure.

All partitions are looked at, so callers keep what is found while contents stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.comparison import unwritable
from towpath.kraft.facts.image import ClusterImage, ConfigOf
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_LISTENERS = frozenset(
    {"advertised.listeners", "control.plane.listener.name", "listener.security.protocol.map",
     "listeners"}
)  # fmt: skip


def check_contents(config: KraftConfig, seen: Observation) -> tuple[Finding, ...]:
    """Return findings about topics, ACLs and dynamic configs."""
    zookeeper, log = seen.zookeeper, seen.log
    image = zookeeper.image if zookeeper else log.image if log else None
    if image is None:
        return ()
    acls = image.acls | log.image.acls if log else image.acls
    slashed = sorted({each.name for each in unwritable(ClusterImage(acls=acls))})
    found = [*_replicas(config, image), *_dynamic(image)]
    if slashed:
        found.append(Finding.of(FindingCode.ACL_SLASH, names=slashed))
    if zookeeper and zookeeper.deleting:
        found.append(Finding.of(FindingCode.DELETING, topics=zookeeper.deleting))
    if zookeeper and zookeeper.reassigning:
        found.append(Finding.of(FindingCode.REASSIGNING, partitions=zookeeper.reassigning))
    return tuple(found)


def _replicas(config: KraftConfig, image: ClusterImage) -> Iterator[Finding]:
    named = {each.id for each in config.brokers}
    away: dict[int, str] = {}
    moving: list[str] = []
    for topic, told in image.topics.items():
        for number, partition in told.partitions.items():
            for broker in set(partition.replicas) - named:
                away.setdefault(broker, f"{topic}-{number}")
            if partition.adding or partition.removing:
                moving.append(f"{topic}-{number}")
    if away:
        where = [f"{broker} (of {partition})" for broker, partition in sorted(away.items())]
        yield Finding.of(FindingCode.REPLICAS_AWAY, replicas=where)
    if moving:
        yield Finding.of(FindingCode.REASSIGNING, partitions=sorted(moving))


def _dynamic(image: ClusterImage) -> Iterator[Finding]:
    found = sorted(
        f"{key} of broker {name or '(default)'}"
        for (about, name), values in image.configs.items()
        if about is ConfigOf.BROKER
        for key in values
        if key in _LISTENERS
    )
    if found:
        yield Finding.of(FindingCode.DYNAMIC_LISTENERS, configs=found)
