"""Checks of Kafka versions, and of the protocol version that all nodes must share. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.files.configs import IBP, in_zookeeper
from towpath.kraft.files.kafka_versions import LOWEST_LEVEL, SEVERAL_LOG_DIRS, level_of
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_PATCH = re.compile(r"(\d+\.\d+)\.(\d+)")
_RELEASE = "3.9"
_MENDED = 2
"""The patch level from which Kafka 3.9 reads a `/migration` without content (KAFKA-19480)."""


def software(facts: Facts) -> Iterator[Finding]:
    """Yield findings about node releases, and about patch levels that hosts show."""
    nodes = (*facts.brokers, *facts.controllers)
    known = {each.id: each.software for each in nodes if each.software is not None}
    unknown = [each.id for each in facts.brokers if each.running and each.id not in known]
    if unknown:
        yield Finding.of(FindingCode.SOFTWARE_UNKNOWN, nodes=unknown)
    old = [f"{node} ({told})" for node, told in known.items() if _release(told) != _RELEASE]
    if old:
        yield Finding.of(FindingCode.SOFTWARE_OTHER, nodes=old)
    builds = sorted({each.build for each in nodes if each.build is not None})
    versions = next((each for each in (sorted(set(known.values())), builds) if len(each) > 1), None)
    if versions is not None:
        yield Finding.of(FindingCode.SOFTWARE_MIXED, versions=versions)
    early = [
        f"{each.id} ({each.build})"
        for each in nodes
        if (patch := _patch(each)) is not None and patch < _MENDED
    ]
    if early:
        yield Finding.of(FindingCode.SOFTWARE_EARLY, nodes=early)
    yield from _null_anchor(facts)


def _release(software: str) -> str:
    match = _PATCH.fullmatch(software)
    return match[1] if match else software


def _patch(node: NodeSeen) -> int | None:
    """Return the patch level of a node's Kafka 3.9; None where its host does not tell."""
    match = _PATCH.fullmatch(node.build or "")
    return int(match[2]) if match and match[1] == _RELEASE else None


def _null_anchor(facts: Facts) -> Iterator[Finding]:
    """Yield the finding about a `/migration` that controllers may not be able to read."""
    znode = facts.seen.zookeeper.migration if facts.seen.zookeeper else None
    mended = all((_patch(each) or 0) >= _MENDED for each in facts.controllers)
    if znode is not None and znode.is_null and not mended:
        yield Finding.of(FindingCode.ANCHOR_NULL)


def protocol(facts: Facts) -> Iterator[Finding]:
    """Yield findings about `inter.broker.protocol.version` and `metadata.version`."""
    told = {each.id: _protocol_of(facts, each) for each in facts.brokers}
    unset = [node for node, version in told.items() if not version]
    if unset:
        yield Finding.of(FindingCode.PROTOCOL_UNSET, brokers=unset)
    versions = sorted({version for version in told.values() if version})
    levels = {level_of(version) for version in versions}
    if len(levels) > 1:
        yield Finding.of(FindingCode.PROTOCOL_MIXED, versions=versions)
    for level in levels:
        yield from _of_level(facts, versions[0], level)


def _protocol_of(facts: Facts, node: NodeSeen) -> str:
    base = in_zookeeper(facts.config, node.properties, facts.seen)
    return base.get(IBP, "").strip()


def _of_level(facts: Facts, version: str, level: int | None) -> Iterator[Finding]:
    if level is None or level < LOWEST_LEVEL:
        yield Finding.of(FindingCode.PROTOCOL_OLD, version=version)
        return
    several = [each.id for each in facts.brokers if "," in each.properties.get("log.dirs", "")]
    if several and level < SEVERAL_LOG_DIRS:
        yield Finding.of(FindingCode.LOG_DIRS_SEVERAL, brokers=several, version=version)
    formatted = facts.seen.log.features.get("metadata.version") if facts.seen.log else None
    if formatted is not None and formatted != level:
        yield Finding.of(
            FindingCode.PROTOCOL_DIFFERS, version=version, level=level, formatted=formatted
        )
