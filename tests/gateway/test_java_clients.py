"""Java clients of each version move to the target and back, and no application is told of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import MovingClient, configs_of
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end

BOTH = ["classic", "consumer"]
CLIENTS = [("3.9.2", ["classic"]), ("4.1.2", BOTH), ("4.4.0", BOTH)]
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("version", "protocols"),
    [
        ("3.9.2", ["classic"]),
        ("4.1.2", ["classic", "consumer"]),
        ("4.4.0", ["classic", "consumer"]),
    ],
)
def test_java_clients_move_and_come_back_without_an_error(
    gateway_link: Link, here: Here, version: str, protocols: list[str]
) -> None:
    link, folder = gateway_link, gateway_link.folder
    topic = create_topic(link.source.bootstrap, f"{link.name}.java", PARTITIONS)
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    served(link)
    writers = [MovingClient(folder, version, "write", str(number), topic) for number in range(2)]
    readers = [
        MovingClient(
            folder, version, "read", f"{link.name}-{protocol}", topic, configs_of(protocol)
        )
        for protocol in protocols
    ]
    every = [*writers, *readers]

    def go_on() -> None:
        known = {each.name: len(each.read) for each in readers}
        wait_until(
            lambda: all(len(each.read) > known[each.name] + 50 for each in readers),
            f"members read on: {[each.failures for each in every]}",
            120,
        )

    traffic = Traffic(bootstrap, topic)
    try:
        for each in every:
            each.start(bootstrap)
        go_on()
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
        there = promoted(here, link)
        begun = end(link.source, topic)
        go_on()
        run = turned_round(link)
        wait_until(lambda: end(link.source, topic) > begun + 20, f"it copies back: {run.said}", 240)
        back = reverted(here, link)
        go_on()
        for each in writers:
            each.stop()
            traffic.sent[int(each.name)] = each.number("SENT")
        total = sum(traffic.sent.values())
        wait_until(
            lambda: all(len({*r.read}) >= total for r in readers), f"all {total} are read", 120
        )
        for each in readers:
            each.stop()
    finally:
        for each in every:
            each.kill()
    assert [each.failures for each in every] == [[] for _ in every]
    require_whole(traffic, link.source.bootstrap)
    for each in readers:
        assert max(Counter(each.read).values()) == 1, f"{each.name} read nothing twice"
    longest = [each.number("LONGEST") for each in writers]
    print(f"{version}: held {there['held_ms']}, {back['held_ms']} ms; longest send {longest} ms")  # noqa: T201
