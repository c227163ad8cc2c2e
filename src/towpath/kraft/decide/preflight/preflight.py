"""All checks before a migration: what would stop it, and possible losses. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.decide.gates import (
    cluster_ids,
    elsewhere,
    in_sync,
    nodes_elsewhere,
    nodes_unseen,
    not_in_file,
    unseen,
    voters_differ,
)
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.next_steps import kept_keys
from towpath.kraft.decide.preflight import disks_and_ports as places
from towpath.kraft.decide.preflight import node_configs as files
from towpath.kraft.decide.preflight import releases as versions
from towpath.kraft.decide.preflight.command_lines import command_lines
from towpath.kraft.decide.preflight.logins import logins
from towpath.kraft.decide.preflight.surroundings import surroundings
from towpath.kraft.decide.preflight.znodes import znodes
from towpath.kraft.decide.repairs import disks_lost, logs_lost
from towpath.kraft.facts.nodes import serves
from towpath.kraft.facts.nouns import Stage
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import Surroundings
from towpath.kraft.findings.codes import FindingCode, Severity
from towpath.kraft.findings.findings import Finding
from towpath.kraft.standing.alarms import anchor, may_lead_empty

BEFORE_COPY = frozenset({Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING})
"""Stages in which brokers still decide, and nothing was copied."""


def preflight(
    config: KraftConfig, seen: Observation, around: Surroundings | None = None
) -> tuple[Finding, ...]:
    """Return everything that would stop a migration or lose something; what would stop it first.

    Args:
        config: The file.
        seen: The cluster.
        around: What lies around it; None where that was not looked at.
    """
    facts = Facts.of(config, seen)
    alarms = (each.finding for each in facts.standing.alarms)
    found = dict.fromkeys((*facts.standing.doubts, *alarms, *_seen(facts), *static(facts)))
    found |= dict.fromkeys((*health(facts), *_noted(facts)))
    found |= dict.fromkeys(surroundings(facts, around) if around is not None else ())
    order = list(Severity)
    return tuple(sorted(found, key=lambda each: (order.index(each.severity), each)))


def static(facts: Facts) -> tuple[Finding, ...]:
    """Return findings about versions, files, disks and contents, which do not pass by waiting.

    Behind the end only what holds for any cluster in KRaft mode is looked at: ZooKeeper is old or
    gone, files need nothing of it any more, and whoever goes on to Kafka 4 changes versions and
    voters.
    """
    if facts.standing.over:
        lasting = (files.folders, places.numbers, places.disks, places.ports)
        return tuple(dict.fromkeys(finding for check in lasting for finding in check(facts)))
    checks: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
        versions.software,
        versions.protocol,
        files.rendering,
        files.identity,
        files.folders,
        command_lines,
        files.check_shared_keys,
        logins,
        files.voters,
        files.control_plane,
        files.sessions,
        files.probe,
        znodes,
        places.numbers,
        places.ensemble,
        places.disks,
        places.ports,
        _quorum,
    )
    found = [finding for check in checks for finding in check(facts)]
    return tuple(dict.fromkeys((*found, *facts.contents)))


def health(facts: Facts) -> tuple[Finding, ...]:
    """Return findings about brokers and replicas that are missing now in either store."""
    if facts.seen.zookeeper is None and facts.seen.log is None:
        return ()
    away = [
        each.id for each in facts.brokers if not (each.elsewhere or serves(facts.seen, each.id))
    ]
    found = [Finding.of(FindingCode.BROKERS_NOT_SERVING, brokers=away)] if away else []
    sync = in_sync(facts)
    return tuple([*found, sync] if sync is not None else found)


def _quorum(facts: Facts) -> Iterator[Finding]:
    """Yield findings about controllers that were formatted or run already."""
    if facts.seen.zookeeper is not None:
        ids = cluster_ids(facts, (*facts.controllers, *facts.brokers))
        if ids is not None:
            yield ids
    differ = voters_differ(facts)
    if differ is not None:
        yield differ
    yield from _epochs(facts)


def _epochs(facts: Facts) -> Iterator[Finding]:
    zookeeper, quorum = facts.seen.zookeeper, facts.seen.quorum
    if zookeeper is None or quorum is None or zookeeper.controller_epoch is None:
        return
    epoch = zookeeper.controller_epoch[0]
    if epoch <= quorum.epoch:
        yield Finding.of(FindingCode.EPOCH_LOW, epoch=epoch, quorum=quorum.epoch)


def _seen(facts: Facts) -> Iterator[Finding]:
    if (away := nodes_unseen(facts)) is not None:
        yield away
    if facts.seen.zookeeper is None and not facts.standing.over:
        yield unseen(facts, FindingCode.ZOOKEEPER_UNSEEN)
    if not facts.standing.over and may_lead_empty(facts.seen):
        yield from logs_lost(facts).reasons
    known = facts.standing.stage not in BEFORE_COPY | {Stage.UNKNOWN}
    if known and (lost := disks_lost(facts)) is not None:
        yield from lost.reasons
    yield from filter(None, (nodes_elsewhere(facts), not_in_file(facts), elsewhere(facts)))


def _noted(facts: Facts) -> Iterator[Finding]:
    """Yield what nobody here can see, so that nobody takes it for checked."""
    if facts.standing.stage in BEFORE_COPY:
        yield Finding.of(FindingCode.NOT_CHECKED)
        yield from places.processes(facts)
    yield from kept_keys(facts)
    znode = anchor(facts.seen)
    if znode is not None and znode.is_null and not facts.standing.over:
        yield Finding.of(FindingCode.ANCHOR_EMPTY)
