"""Clients of several brokers, and of two gateways, where one takes over all addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.gateways import (
    INFORMED,
    adopting_all,
    all_read_by,
    another,
    bootstrap_of,
    go_on,
    java_come_and_move,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import JavaTraffic, configs_of
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.network.proxy import Proxy
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture
def link(
    tmp_path: Path, three: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Link:
    first, *_ = (f"127.0.0.1:{each}" for each in ports.reserve(1))
    gateway = f"{{listen: '{first}', nodes: {{}}, hold: 15s}}"
    return Link(tmp_path, three, target, new_name("adopts"), gateway=gateway, timeout="10s")


@pytest.fixture
def proxies(link: Link) -> Iterator[list[Proxy]]:
    """Proxies before the brokers of the source, whose addresses the gateway takes over."""
    source = link.source
    assert isinstance(source, SharedCluster)
    made = [Proxy(source, place) for place in range(3)]
    adopting_all(link, shown(source.through("PROXIED").bootstrap))
    yield made
    for each in made:
        each.close()
    for program in link.programs:
        program.close()


def shown(bootstrap: str) -> dict[int, str]:
    """Return what clients are told of brokers."""
    brokers = AdminClient({"bootstrap.servers": bootstrap}).list_topics().brokers
    return {number: f"{each.host}:{each.port}" for number, each in brokers.items()}


@pytest.mark.parametrize("version", ["3.9.2", "4.4.0"])
def test_java_clients_of_three_brokers_are_taken_over(
    link: Link, here: Here, proxies: list[Proxy], version: str
) -> None:
    assert isinstance(link.source, SharedCluster)
    topic = create_topic(link.source.bootstrap, f"{link.name}.adopted", PARTITIONS)
    run = link.run_inside()
    clients = JavaTraffic(link.folder, version, topic, {link.name: configs_of("classic")})
    try:
        java_come_and_move(
            link, here, clients, run, link.source.through("PROXIED").bootstrap, proxies
        )
        sent = clients.end()
    finally:
        clients.kill()
    clients.require_whole(sent, link.target.bootstrap)


def test_librdkafka_clients_are_taken_over_beside_a_second_gateway(
    link: Link, here: Here, proxies: list[Proxy]
) -> None:
    source, second = link.source, another(link)
    assert isinstance(source, SharedCluster)
    known = source.through("PROXIED")
    second.gateway = second.gateway.replace("adopt: true, ", "")
    topic = create_topic(source.bootstrap, f"{link.name}.adopted", PARTITIONS)
    run = link.run_inside()
    both = [Traffic(known.bootstrap, topic), Traffic(bootstrap_of(second), topic)]
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 15000}

    def begin(number: int) -> None:
        both[number].write(number)
        both[number].join(classic, **often)
        both[number].join(new, **{"group.protocol": "consumer"})

    try:
        begin(0)
        wait_for_end(link.target, topic, 20, run)
        for proxy in proxies:
            proxy.close()
        served(link)
        go_on(both[0], classic, new)
        served(second)
        begin(1)
        wait_until(lambda: all(both[1].read[each] for each in (classic, new)), "both read", 60)
        promoted(here, link)
        begun = end(source, topic)
        for each in both:
            go_on(each, classic, new)
        assert end(source, topic) == begun, "nothing came to the source any more"
        for each in both:
            each.end_writing()
        all_read_by(both, sum(count for each in both for count in each.sent.values()), classic, new)
    finally:
        for each in both:
            each.close()
    errors = [each for traffic in both for each in traffic.errors]
    assert [each for each in errors if not any(told in each for told in INFORMED)] == []
    require_whole(Traffic("", topic, sent=both[0].sent | both[1].sent), link.target.bootstrap)
