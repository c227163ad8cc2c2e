"""Transactional producers move between two transactions, there and back, and notice nothing."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from tests.support.clients.gateways import ends_of, promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_transactions import (
    Transactions,
    committed_values,
    require_processed,
    require_whole_transactions,
)
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.spark(long=True)
def test_transactions_move_wholly_with_what_they_read_and_come_back(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    inputs, output, rare = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("inputs", "output", "rare")
    )
    run, gateway = link.run_inside(), served(link)
    traffic = Transactions(link.gateway.split("'")[1])
    writer, app, group = f"{link.name}-writer", f"{link.name}-app", f"{link.name}-group"
    try:
        traffic.write(writer, inputs)
        traffic.process(
            app, group, inputs, output,
            **{"heartbeat.interval.ms": 500, "session.timeout.ms": 6000},
        )  # fmt: skip
        traffic.go_on(writer, app)
        before = traffic.producer(f"{link.name}-before")
        wait_for_end(link.target, output, 5, run)
        told = here("promote", str(link.file), "--topics", inputs, "--dry-run", "-o", "json").json
        assert {each["code"] for each in told["reasons"]} == {"PROMOTE_TOGETHER"}
        done = promoted(here, link)
        ends = ends_of(link.source, inputs), ends_of(link.source, output)
        write_once(before, rare, "began at the source")
        traffic.go_on(writer, app)
        assert traffic.errors == []
        gateway.kill9()
        gateway = served(link)
        traffic.go_on(writer, app)
        after = traffic.producer(f"{link.name}-after")
        begun = end(link.source, output)
        run = turned_round(link)
        wait_for_end(link.source, output, begun, run)
        back = reverted(here, link)
        assert [*ends] != [ends_of(link.source, inputs), ends_of(link.source, output)]
        ends = ends_of(link.target, inputs), ends_of(link.target, output)
        write_once(after, rare, "began on the target")
        write_once(before, rare, "goes on")
        traffic.go_on(writer, app)
        gateway.kill9()
        served(link)
        traffic.go_on(writer, app)
        traffic.end()
    finally:
        traffic.close()
    assert traffic.failures == []
    assert ends == (ends_of(link.target, inputs), ends_of(link.target, output))
    require_whole_transactions(traffic, link.source.bootstrap, inputs)
    rarely = [value for _, _, value in committed_values(link.source.bootstrap, rare)]
    assert rarely == ["began at the source", "began on the target", "goes on"]
    require_processed(link.source.bootstrap, inputs, output)
    longest = max(map(max, traffic.waits.values()))
    print(f"held {done['held_ms']} and {back['held_ms']}; longest {longest:.2f} s")  # noqa: T201


def write_once(producer: Producer, topic: str, value: str) -> None:
    """Write one transaction of a producer that may have done nothing yet but begin."""
    producer.begin_transaction()
    producer.produce(topic, json.dumps(value), partition=0)
    producer.commit_transaction(60)
