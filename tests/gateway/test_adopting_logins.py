"""Running clients that log in come to a gateway that takes over the source's addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clients.gateways import (
    INFORMED,
    adopting,
    come_and_move,
    java_come_and_move,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import JavaTraffic
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.secured_moves import SecuredMove, admit, secured_move
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.network.proxy import Proxy

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]
TOLD = (*INFORMED, "Verify that")
"""What librdkafka tells of an address that also ends a login for a moment."""


@pytest.fixture
def adopted(
    tmp_path: Path,
    secured_source: SharedCluster,
    secured_target: SharedCluster,
    vault: Vault,
    new_name: Callable[[str], str],
) -> Iterator[tuple[SecuredMove, str, Proxy]]:
    """A link, the addresses that clients know of its source, and what stands there at first."""
    link = secured_move(tmp_path, secured_source, secured_target, vault, new_name("adopts"))
    told = secured_source.through("PROXIED").bootstrap
    link.gateway = re.sub(r" tls: \{[^}]*\},", "", link.gateway)
    adopting(link, told)
    address = Proxy(secured_source)
    yield link, told, address
    address.close()
    for program in link.programs:
        program.close()


def test_running_clients_that_log_in_come_and_move(
    adopted: tuple[SecuredMove, str, Proxy], here: Here
) -> None:
    link, bootstrap, address = adopted
    user = f"{link.name}-app"
    for cluster in (link.source, link.target):
        admit(cluster, user, link.name)
    topic = create_topic(link.source.back_door, f"{link.name}.a", PARTITIONS)
    run = link.run_inside()
    security = {**link.client(user), "security.protocol": "SASL_PLAINTEXT"}
    traffic = Traffic(bootstrap, topic, security=security)
    try:
        classic, new = f"{link.name}-classic", f"{link.name}-new"
        for number in range(2):
            traffic.write(number)
        # Nobody listens for seconds, while the gateway starts.
        traffic.join(classic, **{"heartbeat.interval.ms": 500, "session.timeout.ms": 30000})
        traffic.join(new, **{"group.protocol": "consumer"})
        come_and_move(link, here, traffic, (classic, new), run, address)
    finally:
        traffic.close()
    assert [each for each in traffic.errors if not any(told in each for told in TOLD)] == []
    require_whole(traffic, link.target.back_door)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    print(f"longest send {max(traffic.waits):.2f} s")  # noqa: T201


@pytest.mark.parametrize(
    ("version", "protocols"), [("3.9.2", ["classic"]), ("4.4.0", ["classic", "consumer"])]
)
def test_running_java_clients_that_log_in_come_and_move(
    adopted: tuple[SecuredMove, str, Proxy], here: Here, version: str, protocols: list[str]
) -> None:
    link, bootstrap, address = adopted
    user = f"{link.name}-app"
    for cluster in (link.source, link.target):
        admit(cluster, user, link.name)
    topic = create_topic(link.source.back_door, f"{link.name}.java", PARTITIONS)
    run = link.run_inside()
    secured = {**link.java_client(user), "security.protocol": "SASL_PLAINTEXT"}
    protocol = {"classic": {}, "consumer": {"group.protocol": "consumer"}}
    groups = {f"{link.name}-{each}": {**secured, **protocol[each]} for each in protocols}
    clients = JavaTraffic(link.folder, version, topic, groups, secured)
    try:
        java_come_and_move(link, here, clients, run, bootstrap, [address])
        sent = clients.end()
    finally:
        clients.kill()
    clients.require_whole(sent, link.target.back_door)
    print(f"{version}: longest send {clients.longest} ms")  # noqa: T201
