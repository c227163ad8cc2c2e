"""The remaining work after a finalized migration, up to Kafka 4. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import Stage
from towpath.kraft.files import kafka_4
from towpath.kraft.files.configs import KEPT
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_OF_3_9 = 21
"""The last level of `metadata.version` that Kafka 3.9 knows (3.9-IV0)."""


def next_steps(facts: Facts) -> tuple[Finding, ...]:
    """Return the remaining work after a finalized migration; nothing before that."""
    if facts.standing.stage is not Stage.FINAL or facts.standing.alarms:
        return ()
    return (*_left_over(facts), *_files(facts), *_versions(facts))


def other_files(facts: Facts) -> Finding | None:
    """Return a finding about brokers whose running mode differs from their file, else `None`."""
    others = [
        f"{each.id} (runs in {each.mode} mode, its file is for {file_mode(each)} mode)"
        for each in facts.brokers
        if each.running and each.mode is not None and file_mode(each) not in {None, each.mode}
    ]
    return Finding.of(FindingCode.FILE_OF_OTHER_MODE, brokers=others) if others else None


def kept_keys(facts: Facts) -> Iterator[Finding]:
    """Yield a note about keys that a finished migration left in broker files."""
    kept = [
        each.id for each in facts.brokers if any(key.startswith(KEPT) for key in each.properties)
    ]
    if kept and facts.standing.stage is Stage.FINAL:
        yield Finding.of(FindingCode.KEPT_KEYS, brokers=kept)


def _left_over(facts: Facts) -> Iterator[Finding]:
    if facts.seen.zookeeper is not None:
        yield Finding.of(FindingCode.ZOOKEEPER_UNUSED, connect=facts.config.zookeeper.connect)
    yield from kept_keys(facts)


def _files(facts: Facts) -> Iterator[Finding]:
    nodes = [*facts.brokers, *facts.controllers]
    gone = sorted({key for each in nodes for key in kafka_4.unknown(each.properties)})
    if gone:
        yield Finding.of(FindingCode.KEYS_GONE_IN_4, count=len(gone), keys=gone)
    refused = [
        f"{what} of node {each.id}" for each in nodes for what in kafka_4.refused(each.properties)
    ]
    if refused:
        yield Finding.of(FindingCode.VALUES_REFUSED_BY_4, values=refused)


def _versions(facts: Facts) -> Iterator[Finding]:
    nodes = [*facts.brokers, *facts.controllers]
    old = [each.id for each in nodes if (each.software or "").startswith("3.")]
    level = facts.seen.log.features.get("metadata.version") if facts.seen.log else None
    if old:
        yield Finding.of(FindingCode.KAFKA_4_NEXT, nodes=old)
    elif level is not None and level <= _OF_3_9:
        yield Finding.of(FindingCode.METADATA_VERSION_NEXT, level=level)
    elif level is not None and not any(each.features.get("kraft.version") for each in nodes):
        yield Finding.of(FindingCode.QUORUM_STATIC)
