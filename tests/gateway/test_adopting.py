"""Running clients of the source come to a gateway that takes over its addresses, and move on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from tests.support.clients.gateways import (
    INFORMED,
    adopted,
    begin_clients,
    come_and_move,
    java_come_and_move,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import JavaTraffic, configs_of
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, end
from tests.support.network.proxy import Proxy

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]
BOTH = ["classic", "consumer"]


def proxied(link: Link) -> SharedCluster:
    assert isinstance(link.source, SharedCluster)
    return link.source


@pytest.mark.parametrize(
    ("version", "protocols"), [("3.9.2", ["classic"]), ("4.1.2", BOTH), ("4.4.0", BOTH)]
)
def test_running_java_clients_come_and_move(
    gateway_link: Link, here: Here, version: str, protocols: list[str]
) -> None:
    link, bootstrap = gateway_link, adopted(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.adopted", PARTITIONS)
    address, run = Proxy(proxied(link)), link.run_inside()
    groups = {f"{link.name}-{each}": configs_of(each) for each in protocols}
    clients = JavaTraffic(link.folder, version, topic, groups)
    try:
        gateway, begun = java_come_and_move(link, here, clients, run, bootstrap, [address])
        gateway.kill9()
        served(link)
        clients.go_on()
        assert end(link.source, topic) == begun, "nothing came to the source any more"
        sent = clients.end()
    finally:
        address.close()
        clients.kill()
    clients.require_whole(sent, link.target.bootstrap)
    print(f"{version}: longest send {clients.longest} ms")  # noqa: T201


def test_running_librdkafka_clients_come_and_move(gateway_link: Link, here: Here) -> None:
    link, bootstrap = gateway_link, adopted(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.adopted", PARTITIONS)
    address, run = Proxy(proxied(link)), link.run_inside()
    traffic = Traffic(bootstrap, topic)
    try:
        classic, new = begin_clients(traffic, link.name)
        come_and_move(link, here, traffic, (classic, new), run, address)
    finally:
        address.close()
        traffic.close()
    assert [each for each in traffic.errors if not any(told in each for told in INFORMED)] == []
    require_whole(traffic, link.target.bootstrap)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    silent = {name: max(b - a for a, b in pairwise(at)) for name, at in traffic.times.items()}
    print(f"longest send {max(traffic.waits):.2f} s; silent {silent}")  # noqa: T201
