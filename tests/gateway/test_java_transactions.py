"""Java's transactional producers of each version go and come back, and nobody is told of it."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_java import MovingClient, configs_of
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def member_of(protocol: str) -> dict[str, str]:
    """Return configs of a member that survives a while without any gateway."""
    longer = {"session.timeout.ms": "30000"} if protocol == "classic" else {}
    return {**configs_of(protocol), **longer}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("version", "protocol"),
    [
        ("3.9.2", "classic"),
        ("4.1.2", "classic"),
        ("4.1.2", "consumer"),
        ("4.4.0", "classic"),
        ("4.4.0", "consumer"),
    ],
)
def test_java_transactions_move_and_come_back_without_an_error(
    gateway_link: Link, here: Here, version: str, protocol: str
) -> None:
    link, folder = gateway_link, gateway_link.folder
    inputs, output = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("inputs", "output")
    )
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    gateway = served(link)
    writer, group = f"{link.name}-writer", f"{link.name}-group"
    writing = MovingClient(folder, version, "transact", writer, inputs)
    processing = MovingClient(
        folder, version, "process", group, f"{inputs}>{output}", member_of(protocol)
    )
    every = [writing, processing]

    def go_on() -> None:
        known = [len(each.numbers("COMMITTED")) for each in every]

        def more() -> bool:
            assert [each.failures for each in every] == [[], []]
            now = [len(each.numbers("COMMITTED")) for each in every]
            return all(new > old + 5 for new, old in zip(now, known, strict=True))

        wait_until(more, "transactions go on", 60)

    try:
        for each in every:
            each.start(bootstrap)
        go_on()
        wait_for_end(link.target, output, 5, run)
        done = promoted(here, link)
        go_on()
        gateway.kill9()
        gateway = served(link)
        go_on()
        begun = end(link.source, output)
        run = turned_round(link)
        wait_for_end(link.source, output, begun, run)
        back = reverted(here, link)
        go_on()
        gateway.kill9()
        served(link)
        go_on()
        for each in every:
            each.stop()
    finally:
        for each in every:
            each.kill()
    assert [each.failures for each in every] == [[], []]
    traffic = Transactions(bootstrap)
    traffic.committed[writer] = writing.numbers("COMMITTED")
    traffic.aborted[writer] = writing.numbers("ABORTED")
    require_whole_transactions(traffic, link.source.bootstrap, inputs)
    require_processed(link.source.bootstrap, inputs, output)
    print(f"{version}, {protocol}: held {done['held_ms']} and {back['held_ms']} ms")  # noqa: T201
