"""Topics come back, and transactions move, through two gateways of which one leads."""

from __future__ import annotations

import pytest

from tests.support.clients.gateways import (
    all_read_by,
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    reverted,
    served,
    turned_round,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(900)]


def test_clients_of_two_gateways_come_back_together(gateway_link: Link, here: Here) -> None:
    link, second = gateway_link, another(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.back", PARTITIONS)
    run = link.run_inside()
    served(link)
    served(second)
    both = [Traffic(bootstrap_of(each), topic) for each in (link, second)]
    group = f"{link.name}-group"
    try:
        for number, each in enumerate(both):
            each.write(number)
            each.join(group, **{"group.protocol": "consumer"})
            wait_until(lambda: len(each.read[group]) > 20, "all read", 90)  # noqa: B023
        wait_for_end(link.target, topic, 20, run)
        there = promoted(here, link)
        run.stop()
        left = end(link.source, topic)
        back = turned_round(link)
        wait_for_end(link.source, topic, left + 20, back)
        done = reverted(here, link)
        ends = ends_of(link.target, topic)
        for each in both:
            go_on(each, group)
        for each in both:
            each.end_writing()
        sent = both[0].sent | both[1].sent
        all_read_by(both, sum(sent.values()), group)
    finally:
        for each in both:
            each.close()
    assert [each.errors for each in both] == [[], []]
    assert ends_of(link.target, topic) == ends, "nothing came to the target any more"
    require_whole(Traffic("", topic, sent=sent), link.source.bootstrap)
    print(f"held {there['held_ms']} and {done['held_ms']}")  # noqa: T201


def test_transactions_of_the_other_gateway_move_wholly(gateway_link: Link, here: Here) -> None:
    link, second = gateway_link, another(gateway_link)
    inputs, output = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("inputs", "output")
    )
    run = link.run_inside()
    served(link)
    served(second)
    traffic = Transactions(bootstrap_of(second))
    writer, app, group = f"{link.name}-writer", f"{link.name}-app", f"{link.name}-group"
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
    try:
        traffic.write(writer, inputs)
        traffic.process(app, group, inputs, output, **often)
        traffic.go_on(writer, app)
        wait_for_end(link.target, output, 5, run)
        done = promoted(here, link)
        ends = ends_of(link.source, inputs), ends_of(link.source, output)
        traffic.go_on(writer, app)
        traffic.end()
    finally:
        traffic.close()
    assert (traffic.errors, traffic.failures) == ([], [])
    assert ends == (ends_of(link.source, inputs), ends_of(link.source, output))
    require_whole_transactions(traffic, link.target.bootstrap, inputs)
    require_processed(link.target.bootstrap, inputs, output)
    print(f"held {done['held_ms']}")  # noqa: T201
