"""A migration to KRaft as data, for `--output json` and the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.next_steps import next_steps, other_files
from towpath.kraft.decide.outline import FileChange, Outline
from towpath.kraft.decide.preflight.preflight import BEFORE_COPY
from towpath.kraft.decide.repairs import disks_lost
from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import Role, Stage
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.findings.findings import Finding
from towpath.kraft.run.loop import RunEnd, comparison_data
from towpath.kraft.show.kraft_shapes import (
    EnsembleJson,
    FindingJson,
    FindingsJson,
    KraftNodeJson,
    KraftPlanJson,
    KraftRunJson,
    KraftStatusJson,
    ZooKeeperServerJson,
)
from towpath.kraft.standing.states import KraftStanding
from towpath.runtime.clock import readable


def findings_data(findings: Iterable[Finding]) -> FindingsJson:
    """Return the findings of a check as data."""
    return {"findings": [_finding(each) for each in findings]}


def is_well(facts: Facts) -> bool:
    """Return whether nothing is alarming: no alarm, a known stage, nothing unobserved.

    Behind the end ZooKeeper is gone for good, and nobody misses it.
    """
    standing = facts.standing
    missed = facts.seen.unseen if standing.stage is not Stage.FINAL else ()
    return not (standing.alarms or standing.doubts or missed)


def status_data(facts: Facts) -> KraftStatusJson:
    """Return the state of a migration as data."""
    standing, seen = facts.standing, facts.seen
    zookeeper = seen.zookeeper
    return {
        "at": readable(seen.at),
        "cluster_id": zookeeper.cluster_id if zookeeper else None,
        "stage": standing.stage,
        "well": is_well(facts),
        "kip": kip_name(standing) or "none",
        "kip_number": standing.kip,
        "metric": standing.metric,
        "controller": zookeeper.controller.id if zookeeper and zookeeper.controller else None,
        "quorum_leader": facts.leader,
        "alarms": [{"alarm": each.alarm, **_finding(each.finding)} for each in standing.alarms],
        "doubts": [_finding(each) for each in standing.doubts],
        "unseen": [f"{each.what}: {each.why}" for each in seen.unseen],
        "offline": list(seen.health.offline) if seen.health else None,
        "under_replicated": list(seen.health.under_replicated) if seen.health else None,
        "comparison": comparison_data(seen.comparison) if seen.comparison else None,
        "zookeeper_read_seconds": zookeeper.seconds if zookeeper else None,
        "odd_znodes": [f"{each.path}: {each.why}" for each in zookeeper.odd] if zookeeper else [],
        "ensemble": _ensemble_told(facts),
        "about_nodes": [_finding(each) for each in findings_of_nodes(facts)],
        "next": [_finding(each) for each in next_steps(facts)],
        "nodes": [_node(each) for each in (*facts.brokers, *facts.controllers)],
    }


def outline_data(facts: Facts, outline: Outline) -> KraftPlanJson:
    """Return the forecast steps as data."""
    return {
        "now": status_data(facts),
        "steps": [
            {
                "step": type(each.step).__name__,
                "what": each.sentence,
                "expected": each.expected,
                "way_back": [step.sentence for step in each.undo],
                "nothing_leads_back": each.last_chance or not each.undo,
                "changes": list(change_lines(each.file)),
            }
            for each in outline.steps
        ],
        "first": [_finding(each) for each in outline.first],
        "refusals": [_finding(each) for each in outline.refusals],
    }


def end_data(end: RunEnd) -> KraftRunJson:
    """Return the end of a run as data."""
    return {
        "stage": end.standing.stage,
        "kip": kip_name(end.standing) or "none",
        "steps": end.steps,
        "reached": end.reached,
        "stopped": end.stopped,
        "left": end.left,
        "refusals": [_finding(each) for each in end.refused],
        "notes": [_finding(each) for each in end.notes],
    }


def findings_of_nodes(facts: Facts) -> tuple[Finding, ...]:
    """Return findings about nodes: disks lost after the copy, files of another mode."""
    copied = facts.standing.stage not in BEFORE_COPY | {Stage.UNKNOWN}
    lost = disks_lost(facts) if copied else None
    other = other_files(facts)
    return (*(lost.reasons if lost else ()), *([other] if other else []))


def kip_name(standing: KraftStanding) -> str:
    """Return the name and number of KIP-866's state, "" if there is none."""
    if standing.kip is None:
        return ""
    return f"{standing.kip.name.title().replace('_', '')} ({int(standing.kip)})"


def change_lines(file: FileChange | None) -> Iterator[str]:
    """Yield the change of a file as lines of a diff, after its path."""
    if file is None:
        return
    yield f"{file.path} of node {file.node}:"
    for each in file.changes:
        if each.before is not None:
            yield f"- {each.key}={each.before}"
        if each.after is not None:
            yield f"+ {each.key}={each.after}"


def _finding(finding: Finding) -> FindingJson:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "values": dict(finding.values),
        "what": finding.what,
        "advice": finding.advice,
    }


def _ensemble_told(facts: Facts) -> EnsembleJson | None:
    servers = facts.seen.ensemble
    if servers is None:
        return None
    told: list[ZooKeeperServerJson] = [
        {"address": each.address, "mode": each.mode, "version": each.version, "why": each.why}
        for each in servers.servers
    ]
    return {
        "voters": servers.size,
        "serve": servers.voting,
        "spare": servers.spare,
        "servers": told,
    }


def _node(node: NodeSeen) -> KraftNodeJson:
    return {
        "id": node.id,
        "role": node.role,
        "running": node.running,
        "mode": node.mode,
        "file_mode": file_mode(node) if node.role is Role.BROKER else None,
        "flag": node.flag,
        "software": node.software,
        "build": node.build,
        "heap": node.heap,
        "meta": [f"{each.directory}: version {each.version}" for each in node.meta],
    }
