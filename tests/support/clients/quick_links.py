"""Links whose clusters take consumers of KIP-848 with short sessions, and whose runs are light."""

from __future__ import annotations

from pathlib import Path

from tests.support.clients.moving import PARTITIONS
from tests.support.clusters.clusters import Clusters
from tests.support.kafka import create_topic
from tests.support.links import Link
from tests.support.program import Program
from towpath.dev import ports

SESSION = 30.0
"""Seconds for which a member of KIP-848 may be silent."""
QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(int(1000 * SESSION)),
}


def quick_link(clusters: Clusters, folder: Path, name: str, brokers: int = 1) -> Link:
    """Return a link between clusters of so many brokers each, with a topic that stays."""
    source, target = (
        clusters.get(f"moving-{side}-{brokers}", brokers=brokers, properties=QUICK)
        for side in ("from", "to")
    )
    first, *rest = (f"127.0.0.1:{each}" for each in ports.reserve(1 + 2 * brokers))
    nodes, targets = (
        ", ".join(f"{number}: '{at}'" for number, at in enumerate(found, 1))
        for found in (rest[:brokers], rest[brokers:])
    )
    gateway = f"{{listen: '{first}', nodes: {{{nodes}}}, targets: {{{targets}}}, hold: 6s}}"
    made = Link(folder, source, target, name, gateway=gateway, timeout="10s")
    create_topic(source.bootstrap, f"{name}.stays", PARTITIONS)  # so never all are promoted
    return made


def light_run(link: Link, file: Path | None = None) -> Program:
    """Begin to run a link in a process without Spark, or its link back that has a file."""
    module, name = "tests.support.copying.light_run", f"run-{len(link.programs)}"
    begun = str(file or link.file)
    made = Program(link.folder, begun, name=name, module=module, nursery=link.nursery)
    link.programs.append(made)
    return made
