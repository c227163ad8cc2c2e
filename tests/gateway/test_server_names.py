"""Brokers behind one port, told apart by the names that clients give in TLS (SNI)."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest
from kafka import KafkaProducer
from pydantic import ValidationError

from tests.support.clients.gateways import promoted, served
from tests.support.clusters.certificates import Authority
from tests.support.here import Here
from tests.support.kafka import consume, create_topic, wait_until
from tests.support.links import Link, end
from towpath.cluster.metadata import Broker
from towpath.dev import ports
from towpath.gateway.relayed_nodes import RelayedNode, RelayedNodes
from towpath.gateway.routes import SOURCE, BrokerPlace, Cluster
from towpath.gateway.server_names import ServerNames
from towpath.settings.sections.gateway import GatewayConfig

DOMAIN = ".kafka.example"


class Named:
    """A connection with the name that a client gave."""


def test_a_name_stands_for_a_broker_and_any_other_for_all() -> None:
    names, target = ServerNames(SOURCE), BrokerPlace(Cluster.TARGET, 1)
    names.add("b1.kafka.example", target)
    connection: Any = Named()
    assert names.place(connection) == SOURCE
    for given, place in (("B1.Kafka.example", target), ("b2.kafka.example", SOURCE)):
        names.note(connection, given)
        assert names.place(connection) == place
    names.note(connection, None)
    assert names.place(None) == SOURCE


def test_brokers_of_both_clusters_have_names_at_one_port() -> None:
    def opened(number: int, node: RelayedNode) -> None:
        shown.append((number, node.shown))

    shown = list[tuple[int, tuple[str, int]]]()
    for shift in (1_000_000, 0):
        nodes = RelayedNodes("all", 9092, {}, opened, shift, "b{id}.kafka.example")
        nodes.learn([Broker(3, "real", 1)])
    assert shown == [(3, ("b1000003.kafka.example", 9092)), (3, ("b3.kafka.example", 9092))]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"names": "b.kafka.example"}, "no pattern"),
        ({"names": "{id}.{id}.example"}, "no pattern"),
        ({"names": "b{id}"}, "no pattern"),
        ({"names": "kafka.{id}.example"}, "no pattern"),
        ({"names": "b{id}.example"}, "needs `tls`"),
    ],
)
def test_patterns_that_no_certificate_could_cover_are_refused(
    more: dict[str, str], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        GatewayConfig.model_validate({"listen": "a:1", **more})


@pytest.mark.broker
@pytest.mark.spark
def test_a_client_moves_through_one_port(
    gateway_link: Link, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(gateway_link.folder / "names")
    shown = authority.issue("gateway", 30, f"*{DOMAIN}")
    (port,) = ports.reserve(1)
    gateway = f"{{listen: '127.0.0.1:{port}', names: 'b{{id}}{DOMAIN}', hold: 15s,"
    gateway += f" tls: {{cert: '{shown.certificate}', key: '{shown.key}'}}}}"
    link = replace(gateway_link, gateway=gateway)
    topic = create_topic(link.source.bootstrap, f"{link.name}.a")
    run, found = link.run_inside(), socket.getaddrinfo

    def at_home(host: Any, *args: Any, **more: Any) -> Any:
        named = isinstance(host, str) and host.endswith(DOMAIN)
        asked.add(str(host))
        return found("127.0.0.1" if named else host, *args, **more)

    def asked_for() -> set[str]:
        return {each for each in asked if each.endswith(DOMAIN)} - {f"all{DOMAIN}"}

    def sent() -> bool:
        count.append(producer.send(topic, b"v").get(60).offset)
        return True

    asked, count = set[str](), list[int]()
    monkeypatch.setattr(socket, "getaddrinfo", at_home)
    served(link)
    producer = KafkaProducer(
        bootstrap_servers=f"all{DOMAIN}:{port}",
        security_protocol="SSL",
        ssl_cafile=str(authority.certificate),
        metadata_max_age_ms=1000,
    )
    try:
        for _ in range(10):
            sent()
        wait_until(
            lambda: end(link.target, topic) == 10, lambda: f"the run copies: {run.said}", 120
        )
        promoted(here, link)
        wait_until(lambda: sent() and len(asked_for()) == 2, "it finds the target's broker", 60)
        sent()
    finally:
        producer.close(5)
    sides = link.source.bootstrap, link.target.bootstrap
    assert [len(consume(side, topic, [0])) for side in sides] == [10, len(count)]
