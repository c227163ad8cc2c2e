"""Clients leave the gateway for the target's own brokers, and it can be taken away."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import all_read, begin_clients, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import JavaTraffic, configs_of
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end
from tests.support.pages.scrape import Scrape

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]
BOTH = ["classic", "consumer"]
ALL_DOWN = "_ALL_BROKERS_DOWN"
"""What librdkafka tells when a broker disappears and one is left, though it is connected to it."""
SHORT = {"metadata.max.age.ms": "20000"}
"""Java keeps addresses for five minutes by default."""


def leaving(link: Link) -> str:
    """Let clients leave; return where they begin."""
    link.gateway = link.gateway.replace("hold:", "after: leave, hold:")
    return link.gateway.split("'")[1]


def all_left(link: Link) -> bool:
    """Whether nobody is connected to the gateway any more."""
    got = Scrape(link.gateway.split("'")[-2])
    here = [got.get("towpath_gateway_clients", state=each) for each in ("staying", "leaving")]
    return here == [0, 0] and (got.get("towpath_gateway_left_clients_total") or 0) > 0


@pytest.mark.parametrize(
    ("version", "protocols"), [("3.9.2", ["classic"]), ("4.1.2", BOTH), ("4.4.0", BOTH)]
)
def test_java_clients_leave_and_need_no_gateway(
    gateway_link: Link, here: Here, version: str, protocols: list[str]
) -> None:
    link, bootstrap = gateway_link, leaving(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.left", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    groups = {f"{link.name}-{each}": {**SHORT, **configs_of(each)} for each in protocols}
    clients = JavaTraffic(link.folder, version, topic, groups, SHORT)
    try:
        clients.start(bootstrap)
        wait_for_end(link.target, topic, 20, run)
        promoted(here, link)
        clients.go_on()
        wait_until(lambda: all_left(link), lambda: f"all leave: {gateway.said}", 180)
        refused = here("revert", str(link.file), "-o", "json")
        assert [each["code"] for each in refused.json["reasons"]] == ["REVERT_LEFT"]
        gateway.kill9()
        clients.go_on()
        sent = clients.end()
    finally:
        clients.kill()
    clients.require_whole(sent, link.target.bootstrap)
    print(f"{version}: longest send {clients.longest} ms")  # noqa: T201


def test_librdkafka_clients_leave_and_need_no_gateway(gateway_link: Link, here: Here) -> None:
    link, bootstrap = gateway_link, leaving(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.left", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    traffic = Traffic(bootstrap, topic)
    try:
        classic, new = begin_clients(traffic, link.name)
        wait_until(lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]), "all read", 60)
        wait_for_end(link.target, topic, 20, run)
        promoted(here, link)
        go_on(traffic, classic, new)
        wait_until(lambda: all_left(link), lambda: f"all leave: {gateway.said}", 180)
        assert [each for each in traffic.errors if ALL_DOWN not in each] == []
        traffic.errors.clear()
        wait_until(lambda: "gateway.unneeded" in gateway.said, "the log says so")
        gateway.kill9()
        go_on(traffic, classic, new)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), classic, new)
    finally:
        traffic.close()
    told = [each for each in traffic.errors if "Connect to" not in each and ALL_DOWN not in each]
    assert told == []
    require_whole(traffic, link.target.bootstrap)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    print(f"longest send {max(traffic.waits):.2f} s")  # noqa: T201
