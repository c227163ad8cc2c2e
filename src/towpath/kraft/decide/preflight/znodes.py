"""Checks for znodes that the copy would fail at, wait for, or leave behind. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from towpath.kraft.decide.gates import odd_znodes
from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Oddity
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_CODES: Mapping[Oddity, FindingCode] = MappingProxyType(
    {
        Oddity.FORBIDDEN: FindingCode.ZNODES_FORBIDDEN,
        Oddity.UNKNOWN_FORM: FindingCode.ZNODES_UNKNOWN,
        Oddity.NO_TOPIC_ID: FindingCode.TOPIC_IDS_MISSING,
        Oddity.NO_STATE: FindingCode.STATES_MISSING,
        Oddity.ORPHAN_CONFIG: FindingCode.CONFIGS_ORPHANED,
        Oddity.ENDS_BROKERS: FindingCode.ENDS_BROKERS,
        Oddity.MAY_END_BROKERS: FindingCode.MAY_END_BROKERS,
    }
)
_EVERYONE = "world:anyone"


def znodes(facts: Facts) -> Iterator[Finding]:
    """Yield findings about odd znodes, about missing brokers, and about ACLs of znodes."""
    zookeeper = facts.seen.zookeeper
    if zookeeper is None:
        return
    yield from odd_znodes(facts, _CODES)
    named = {NodeId(each.id) for each in facts.config.brokers}
    others = sorted(zookeeper.awaited - named)
    if others:
        yield Finding.of(FindingCode.BROKERS_AWAITED, brokers=others)
    if zookeeper.writers and _EVERYONE not in zookeeper.writers:
        yield Finding.of(FindingCode.ZNODE_ACLS, writers=zookeeper.writers)
