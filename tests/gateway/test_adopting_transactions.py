"""Running transactional producers of the source come to a gateway that takes over its addresses."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import adopted, promoted, served
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_java import MovingClient, configs_of
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.network.proxy import Proxy

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]


def test_running_java_transactions_come_and_move(gateway_link: Link, here: Here) -> None:
    """Those of Kafka 4 do not: they have agreed on transactions that a gateway does not offer."""
    version = "3.9.2"
    link, bootstrap = gateway_link, adopted(gateway_link)
    inputs, output = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("inputs", "output")
    )
    assert isinstance(link.source, SharedCluster)
    address, run = Proxy(link.source), link.run_inside()
    writer, group = f"{link.name}-writer", f"{link.name}-group"
    writing = MovingClient(link.folder, version, "transact", writer, inputs)
    processing = MovingClient(
        link.folder, version, "process", group, f"{inputs}>{output}", configs_of("classic")
    )
    every = [writing, processing]

    def go_on() -> None:
        known = [len(each.numbers("COMMITTED")) for each in every]
        wait_until(
            lambda: all(
                len(each.numbers("COMMITTED")) > count + 3
                for each, count in zip(every, known, strict=True)
            ),
            lambda: f"transactions go on: {[each.failures for each in every]}",
            120,
        )

    try:
        for each in every:
            each.start(bootstrap)
        go_on()
        wait_for_end(link.target, output, 20, run)
        address.close()
        served(link)
        go_on()
        there = promoted(here, link)
        begun = end(link.source, inputs), end(link.source, output)
        go_on()
        assert begun == (end(link.source, inputs), end(link.source, output))
        writing.stop()
        processing.stop()
    finally:
        address.close()
        for each in every:
            each.kill()
    traffic = Transactions("")
    traffic.committed[writer] = writing.numbers("COMMITTED")
    traffic.aborted[writer] = writing.numbers("ABORTED")
    print(f"{version}: held {there['held_ms']}; told {[each.failures for each in every]}")  # noqa: T201
    assert [each.failures for each in every] == [[], []]
    require_whole_transactions(traffic, link.target.bootstrap, inputs)
    require_processed(link.target.bootstrap, inputs, output)


def test_running_librdkafka_transactions_come_and_move(gateway_link: Link, here: Here) -> None:
    link, bootstrap = gateway_link, adopted(gateway_link)
    inputs = create_topic(link.source.bootstrap, f"{link.name}.inputs", PARTITIONS)
    assert isinstance(link.source, SharedCluster)
    address, run = Proxy(link.source), link.run_inside()
    traffic, writer = Transactions(bootstrap), f"{link.name}-writer"
    try:
        traffic.write(writer, inputs)
        traffic.go_on(writer)
        wait_for_end(link.target, inputs, 20, run)
        address.close()
        served(link)
        traffic.go_on(writer)
        promoted(here, link)
        begun = end(link.source, inputs)
        traffic.go_on(writer)
        assert begun == end(link.source, inputs)
        traffic.end()
    finally:
        address.close()
        traffic.close()
    assert traffic.failures == []
    require_whole_transactions(traffic, link.target.bootstrap, inputs)
