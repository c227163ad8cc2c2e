"""The safety gates that Towpath enforces, since Kafka does not. Pure.

A gate is a function `gate_...` that returns what forbids to pass it: before a broker leaves
ZooKeeper mode, before a broker goes to KRaft mode, before the next restart, as long as both stores
are written, and before finalizing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nodes import file_mode, is_settled, serves, shown_mode
from towpath.kraft.facts.nouns import Alarm, BrokerMode, Goal, LogState, NodeId, Stage
from towpath.kraft.facts.seen import NodeSeen, Oddity
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.standing.alarms import anchor, claimed, flagless

_MS = 1_000
_BEFORE_KRAFT = frozenset(
    {Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, Stage.COPYING, Stage.HYBRID}
)
"""Stages in which no broker is in KRaft mode."""
_NOT_READ: Mapping[Oddity, FindingCode] = MappingProxyType(
    {
        Oddity.FORBIDDEN: FindingCode.ZNODES_FORBIDDEN,
        Oddity.UNKNOWN_FORM: FindingCode.ZNODES_UNKNOWN,
    }
)


def gate_to_migration(facts: Facts) -> tuple[Finding, ...]:
    """Return the reasons why no broker may change to migration mode yet.

    All controllers tell the flag, are the voters of a quorum that is led, and belong to this
    cluster; `/migration` is at -1.
    """
    return _found(
        _flags(facts),
        _leaderless(facts),
        voters_differ(facts),
        _anchor_free(facts),
        cluster_ids(facts, facts.controllers),
    )


def gate_to_kraft(facts: Facts, node: NodeId | None = None) -> tuple[Finding, ...]:
    """Return the reasons why no broker may change to KRaft mode yet.

    All brokers are registered, both stores are equal, and a probe topic has passed.

    Args:
        facts: What was seen.
        node: The broker; it need not serve where a restart of it was cut off.
    """
    there = facts.seen.brokers.get(node) if node is not None else None
    cut_off = None if there is None or is_settled(there) else there.id
    serving = _serving(facts, cut_off)
    return _found(
        *gate_both_written(facts), *incomparable(facts), _equal(facts), _probed(facts), serving
    )


def gate_restart(facts: Facts) -> tuple[Finding, ...]:
    """Return the reasons why no further node may be restarted: brokers or replicas missing."""
    return _found(_serving(facts), in_sync(facts), takeover(facts))


def gate_both_written(facts: Facts) -> tuple[Finding, ...]:
    """Return the reasons to stop while both stores are written: controllers without the flag."""
    return _found(_flags(facts))


def gate_finalize(facts: Facts) -> tuple[Finding, ...]:
    """Return the reasons why the migration may not be finalized yet.

    Every broker is in KRaft mode by its registration, its process and its file; all is equal,
    probed, healthy, and has been so for `limits.soak`. Whoever asks has been asked to confirm.
    """
    return _found(
        still_migrating(facts),
        *incomparable(facts),
        _equal(facts),
        _probed(facts),
        _soaked(facts),
        *gate_restart(facts),
    )


def too_early(facts: Facts, goal: Goal) -> Finding | None:
    """Return a refusal to finalize a cluster that `run` has not migrated, else `None`.

    `finalize` alone would else take a cluster through all stages, and leave nobody the time in
    which both stores are written. Brokers that were put back since are brought on (`mixed`).
    """
    stage = facts.standing.stage
    if goal is not Goal.FINAL or stage not in _BEFORE_KRAFT:
        return None
    return Finding.of(FindingCode.TOO_EARLY, stage=stage)


def incomparable(facts: Facts) -> tuple[Finding, ...]:
    """Return why a comparison of both stores is incomplete, or can never show equality.

    Znodes that were not read are in no image, so both images may be equal without them. ACLs that
    ZooKeeper cannot hold stop the writes to it.
    """
    stuck = [each.finding for each in facts.standing.alarms if each.alarm is Alarm.UNWRITABLE]
    return (*stuck, *odd_znodes(facts, _NOT_READ))


def odd_znodes(facts: Facts, codes: Mapping[Oddity, FindingCode]) -> tuple[Finding, ...]:
    """Return a finding for each kind of odd znode that was found."""
    odd = facts.seen.zookeeper.odd if facts.seen.zookeeper else ()
    paths = {kind: sorted(each.path for each in odd if each.oddity is kind) for kind in codes}
    return tuple(
        Finding.of(codes[kind], count=len(found), paths=found)
        for kind, found in paths.items()
        if found
    )


def unseen(facts: Facts, code: FindingCode, **values: Iterable[object]) -> Finding:
    """Return a finding about something that could not be observed, with the errors."""
    why = [f"{each.what}: {each.why}" for each in facts.seen.unseen] or ["no reason was given"]
    return Finding.of(code, why=why, **values)


def nodes_unseen(facts: Facts) -> Finding | None:
    """Return a finding about nodes without enough information, else `None`."""
    named = (*facts.config.brokers, *facts.config.controllers.nodes)
    there = {each.id for each in (*facts.brokers, *facts.controllers)}
    lacking = {each.id for each in facts.brokers if not each.properties}
    away = sorted({NodeId(each.id) for each in named} - there | lacking)
    if not away:
        return None
    files = {NodeId(each.id): each.properties for each in facts.config.brokers}
    empty = tuple(f"{files[node]} of broker {node} is missing or empty" for node in sorted(lacking))
    nodes = {f"node {node}" for node in away}
    why = (*empty, *(each.why for each in facts.seen.unseen if each.what in nodes))
    return Finding.of(FindingCode.NODES_UNSEEN, nodes=away, why=why)


def nodes_elsewhere(facts: Facts) -> Finding | None:
    """Return a finding about nodes that answer although their driver finds no process.

    It has a wrong folder, unit or pod: a step would write the file of a node that runs.
    """
    nodes = [each.id for each in (*facts.brokers, *facts.controllers) if each.elsewhere]
    return Finding.of(FindingCode.NODES_ELSEWHERE, nodes=nodes) if nodes else None


def takeover(facts: Facts) -> Finding | None:
    """Return a finding about a leader that has not taken over `/controller` yet, else `None`."""
    seen = facts.seen
    controller = seen.zookeeper.controller if seen.zookeeper else None
    if controller is None or seen.quorum is None or not claimed(seen):
        return None
    both = seen.log is not None and seen.log.state is LogState.MIGRATION
    if not both or controller.id == seen.quorum.leader:
        return None
    return Finding.of(FindingCode.TAKEOVER_PENDING, named=controller.id, leader=seen.quorum.leader)


def not_in_file(facts: Facts) -> Finding | None:
    """Return a finding about brokers of the cluster that the file does not name, else `None`."""
    named = {NodeId(each.id) for each in facts.config.brokers}
    there = set(facts.seen.log.brokers) if facts.seen.log else set()
    there |= facts.seen.zookeeper.brokers if facts.seen.zookeeper else set()
    others = sorted(there - named)
    return Finding.of(FindingCode.BROKERS_NOT_IN_FILE, brokers=others) if others else None


def elsewhere(facts: Facts) -> Finding | None:
    """Return a finding about brokers that belong to another cluster than ZooKeeper's data."""
    told, zookeeper = facts.seen.cluster, facts.seen.zookeeper
    if told is None or not told.id or zookeeper is None:
        return None
    if told.id == zookeeper.cluster_id:
        return None
    wanted = zookeeper.cluster_id
    return Finding.of(FindingCode.CLUSTER_ELSEWHERE, found=told.id, cluster=wanted)


def still_migrating(facts: Facts) -> Finding | None:
    """Return a finding about brokers that are not in KRaft mode, else `None`."""
    log = facts.seen.log
    registered = {each.id for each in log.brokers.values() if each.migrating} if log else set()
    kraft = BrokerMode.KRAFT
    others = {
        each.id
        for each in facts.brokers
        if shown_mode(each) is not kraft or file_mode(each) is not kraft or each.id in registered
    }
    still = sorted(others | registered)
    return Finding.of(FindingCode.STILL_MIGRATING, brokers=still) if still else None


def _found(*findings: Finding | None) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each is not None)


def _flags(facts: Facts) -> Finding | None:
    lacking = set(flagless(facts.seen)) | {
        each.id for each in facts.controllers if each.flag is not True
    }
    if not lacking:
        return None
    return Finding.of(FindingCode.FLAG_NOT_TOLD, controllers=sorted(lacking))


def _leaderless(facts: Facts) -> Finding | None:
    if facts.seen.quorum is not None:
        return None
    nodes = [each.id for each in facts.controllers]
    return unseen(facts, FindingCode.QUORUM_UNSEEN, controllers=nodes)


def voters_differ(facts: Facts) -> Finding | None:
    """Return a finding if the quorum's voters differ from the controllers in the file."""
    quorum = facts.seen.quorum
    wanted = sorted(NodeId(each.id) for each in facts.config.controllers.nodes)
    if quorum is None or sorted(quorum.voters) == wanted:
        return None
    voters = sorted(quorum.voters)
    return Finding.of(FindingCode.VOTERS_DIFFER, voters=voters, controllers=wanted)


def _anchor_free(facts: Facts) -> Finding | None:
    znode = anchor(facts.seen)
    if znode is None or znode.offset < 0:
        return None
    return Finding.of(FindingCode.ANCHOR_TAKEN, offset=znode.offset)


def cluster_ids(facts: Facts, nodes: Iterable[NodeSeen]) -> Finding | None:
    """Return a finding about nodes whose folders belong to another cluster, else `None`."""
    cluster = facts.zookeeper.cluster_id
    other = [each.id for each in nodes if any(at.cluster_id != cluster for at in each.meta)]
    return Finding.of(FindingCode.CLUSTER_ID, nodes=other, cluster=cluster) if other else None


def _equal(facts: Facts) -> Finding | None:
    comparison = facts.seen.comparison
    if comparison is None:
        return Finding.of(FindingCode.NOT_COMPARED)
    if comparison.equal:
        return None
    names = [f"{each.kind} {each.name}" for each in comparison.differences]
    return Finding.of(FindingCode.UNEQUAL, count=len(names), names=names)


def _probed(facts: Facts) -> Finding | None:
    quorum = facts.seen.quorum
    if quorum is not None and facts.seen.proven.probed == quorum.epoch:
        return None
    return Finding.of(FindingCode.NOT_PROBED)


def _serving(facts: Facts, besides: NodeId | None = None) -> Finding | None:
    others = (each.id for each in facts.brokers if each.id != besides)
    away = [node for node in others if not serves(facts.seen, node)]
    return Finding.of(FindingCode.BROKERS_NOT_SERVING, brokers=away) if away else None


def in_sync(facts: Facts) -> Finding | None:
    """Return a finding about partitions that a restart would hurt, else `None`."""
    health = facts.seen.health
    if health is None:
        return Finding.of(FindingCode.HEALTH_UNSEEN)
    partitions = sorted({*health.offline, *health.under_replicated})
    if not partitions:
        return None
    return Finding.of(FindingCode.NOT_IN_SYNC, count=len(partitions), partitions=partitions)


def _soaked(facts: Facts) -> Finding | None:
    if facts.seen.proven.finalizing:  # a moment's difference asks for no other soak
        return None
    wanted = float(facts.config.limits.soak)
    since = facts.seen.proven.equal_since
    seconds = 0 if since is None else (facts.seen.at - since) // _MS
    if seconds >= wanted:
        return None
    return Finding.of(FindingCode.SOAKING, seconds=seconds, wanted=round(wanted))
