"""Java clients of each version move to the target and back, and no application is told of it."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_java import JavaTraffic, configs_of
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, end, wait_for_end

BOTH = ["classic", "consumer"]
CLIENTS = [("3.9.2", ["classic"]), ("4.1.2", BOTH), ("4.4.0", BOTH)]
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("version", "protocols"), CLIENTS)
def test_java_clients_move_and_come_back_without_an_error(
    gateway_link: Link, here: Here, version: str, protocols: list[str]
) -> None:
    link, folder = gateway_link, gateway_link.folder
    topic = create_topic(link.source.bootstrap, f"{link.name}.java", PARTITIONS)
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    served(link)
    groups = {f"{link.name}-{each}": configs_of(each) for each in protocols}
    clients = JavaTraffic(folder, version, topic, groups)
    try:
        clients.start(bootstrap)
        wait_for_end(link.target, topic, 20, run)
        there = promoted(here, link)
        begun = end(link.source, topic)
        clients.go_on()
        run = turned_round(link)
        wait_for_end(link.source, topic, begun + 20, run)
        back = reverted(here, link)
        clients.go_on()
        sent = clients.end()
    finally:
        clients.kill()
    clients.require_whole(sent, link.source.bootstrap)
    longest = clients.longest
    print(f"{version}: held {there['held_ms']}, {back['held_ms']} ms; longest send {longest} ms")  # noqa: T201
