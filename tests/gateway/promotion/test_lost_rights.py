"""Rights of the link's login are taken away in the middle of a promotion, and given back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.support.clients.gateways import begin_clients, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.quick_links import light_run
from tests.support.clusters import fleet
from tests.support.clusters.certificates import Vault
from tests.support.clusters.clusters import Clusters
from tests.support.clusters.rights import (
    ALL,
    CLUSTER,
    DESCRIBE,
    LITERAL,
    READ,
    TOPIC,
    allow,
    withdraw,
)
from tests.support.clusters.secured_moves import SecuredMove, admit, secured_move
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import end

pytestmark = [pytest.mark.broker, pytest.mark.soak]
GROUP, ID, BROKER = ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.BROKER
SEEN = DESCRIBE, AclOperation.DESCRIBE_CONFIGS


def grant(link: SecuredMove) -> None:
    """Give the link's login what `docs/rights.md` says; each on what begins with its name."""
    for cluster in (link.source, link.target):
        allow(cluster, TOPIC, link.name)
        allow(cluster, GROUP, link.name)
        allow(cluster, BROKER, CLUSTER, (*SEEN, AclOperation.ALTER), pattern=LITERAL)
        admit(cluster, f"{link.name}-app", link.name)
    allow(link.source, TOPIC, "__consumer_offsets", (READ,))
    allow(link.target, ID, f"towpath.{link.name}.")
    allow(link.target, TOPIC, "__towpath_", (ALL,))


@pytest.mark.timeout(900)
def test_what_the_ledger_refuses_is_undone_while_the_right_is_missing(
    tmp_path: Path, clusters: Clusters, vault: Vault, here: Here, new_name: Callable[[str], str]
) -> None:
    source, target = (
        clusters.get(f"rights-{side}", **fleet.secured(vault)) for side in ("from", "to")
    )
    link = secured_move(tmp_path, source, target, vault, new_name("rights"))
    link.user = "mirror"
    grant(link)
    topic = create_topic(link.source.back_door, f"{link.name}.moved", PARTITIONS)
    run, gateway = light_run(link), served(link)
    traffic = Traffic(link.bootstrap, topic, security=link.client(f"{link.name}-app"))
    try:
        groups = begin_clients(traffic, link.name)
        go_on(traffic, *groups)
        wait_until(lambda: end(link.target, topic) > 20, lambda: f"it copies: {run.said}", 240)
        asked = link.start("promote", "-o", "json")
        wait_until(lambda: "come to a held join" in asked.said, "members are held", 120)
        withdraw(link.target, TOPIC, "__towpath_", ALL)
        go_on(traffic, *groups)
        assert "state=undone" in gateway.said, gateway.said
        allow(link.target, TOPIC, "__towpath_", (ALL,))
        assert asked.wait(120) in {3, 4}, asked.said
        promoted(here, link)
        go_on(traffic, *groups)
        traffic.end_writing()
    finally:
        traffic.close()
        for program in link.programs:
            program.close()
    require_whole(traffic, link.target.back_door)
