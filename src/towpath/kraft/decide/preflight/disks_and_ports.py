"""Checks of the number of nodes, and of their disks and ports. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.model.amounts import size

_LITTLE = 1 << 30
"""Free bytes below which a metadata log and its snapshots may fill a disk."""
_CLIENT_PORTS = range(32_768, 61_000)
"""What Linux gives to connections of clients by default, where a host does not tell."""
_PASSING = ("/tmp/", "/run/", "/dev/shm/", "/var/run/")  # noqa: S108, folders to warn of


def numbers(facts: Facts) -> Iterator[Finding]:
    """Yield findings about the numbers of controllers and ZooKeeper servers."""
    controllers = facts.config.controllers.nodes
    if len(controllers) not in {3, 5}:
        yield Finding.of(FindingCode.CONTROLLERS_NUMBER, count=len(controllers))
    servers = facts.config.zookeeper.connect.partition("/")[0].split(",")
    if len(servers) < 3 and not facts.standing.over:
        yield Finding.of(FindingCode.ZOOKEEPER_SMALL, count=len(servers))
    passing = [each.data for each in controllers if each.data.startswith(_PASSING)]
    if passing:
        yield Finding.of(FindingCode.DATA_PASSING, folders=passing)


def ensemble(facts: Facts) -> Iterator[Finding]:
    """Yield findings about ZooKeeper servers that are down, or whose loss would stop it."""
    seen = facts.seen.ensemble
    if seen is None:
        return
    if seen.away:
        away = [f"{each.address} ({each.why})" for each in seen.away]
        yield Finding.of(FindingCode.ZOOKEEPER_SERVERS_AWAY, servers=away)
    if seen.size > 1 and not seen.spare:
        yield Finding.of(FindingCode.ZOOKEEPER_NO_SPARE, voting=seen.voting, size=seen.size)
    if not seen.is_led:
        yield Finding.of(FindingCode.ZOOKEEPER_NO_LEADER)


def disks(facts: Facts) -> Iterator[Finding]:
    """Yield findings about nearly full disks and missing log directories."""
    nodes = (*facts.brokers, *facts.controllers)
    little = [
        f"{each.id} ({size(each.free_bytes)})"
        for each in nodes
        if each.free_bytes is not None and each.free_bytes < _LITTLE
    ]
    if little:
        yield Finding.of(FindingCode.DISK_LOW, nodes=little)
    missing = []
    for node in facts.brokers:
        dirs = node.properties.get("log.dirs", node.properties.get("log.dir", "")).split(",")
        there = {each.directory for each in node.meta}
        missing += [
            f"{at} of broker {node.id}" for at in map(str.strip, dirs) if at and at not in there
        ]
    if missing:
        yield Finding.of(FindingCode.LOG_DIRS_MISSING, folders=missing)
    yield from _lost(facts)


def processes(facts: Facts) -> Iterator[Finding]:
    """Yield notes about node processes, and about hosts that do not show them."""
    nodes = [each for each in (*facts.brokers, *facts.controllers) if each.running]
    unknown = [each.id for each in nodes if each.build is None]
    if unknown:
        yield Finding.of(FindingCode.BUILDS_UNKNOWN, nodes=unknown)
    heaps = [f"{each.id} ({size(each.heap)})" for each in nodes if each.heap is not None]
    if heaps:
        yield Finding.of(FindingCode.HEAPS, nodes=heaps)


def _lost(facts: Facts) -> Iterator[Finding]:
    told = facts.seen.cluster
    if told is None:
        return
    if told.why:
        yield Finding.of(FindingCode.LOG_DIRS_UNKNOWN, why=told.why)
    lost = [
        f"{at} of broker {node}"
        for node, folders in sorted(told.lost_dirs.items())
        for at in sorted(folders)
    ]
    if lost:
        yield Finding.of(FindingCode.LOG_DIRS_OFFLINE, folders=lost)


def ports(facts: Facts) -> Iterator[Finding]:
    """Yield findings about ports on which a client may connect to itself."""
    nodes = (*facts.config.brokers, *facts.config.controllers.nodes)
    told = {each.id: each.client_ports for each in (*facts.brokers, *facts.controllers)}
    bad = [
        each.address
        for each in nodes
        if _port(each.address) in (told.get(NodeId(each.id)) or _CLIENT_PORTS)
    ]
    if bad:
        yield Finding.of(FindingCode.PORTS_EPHEMERAL, addresses=bad)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
