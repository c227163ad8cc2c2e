"""Gateways that are killed lose no transaction, and producers that were fenced stay fenced."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.support.clients.gateways import moved, promoted, served
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_transactions import (
    Transactions,
    committed_values,
    require_processed,
    require_whole_transactions,
)
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
STEPS = 33
"""About how often a gateway writes until a promotion is done, before and behind each time."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(3, STEPS, 6))
def test_a_gateway_that_is_killed_around_each_write_loses_no_transaction(
    gateway_link: Link, here: Here, first: int
) -> None:
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    for step in range(first, first + 6):
        topics = [
            create_topic(link.source.bootstrap, f"{link.name}.{name}{step}", PARTITIONS)
            for name in ("in", "out")
        ]
        wait_until(lambda: end(link.target, topics[1]) >= 0, f"the run finds it: {run.said}", 240)  # noqa: B023
        states[step] = killed_around(link, here, topics[0], topics[1], step)
    print(states)  # noqa: T201
    assert "undone" in states.values() or first > 3
    assert "promoted" in states.values() or first < STEPS - 6


def killed_around(link: Link, here: Here, inputs: str, output: str, step: int) -> str:
    """Kill a gateway around a write of a promotion; return what became of the first request."""
    gateway = served(link, f"kill={step}", "ids")
    traffic = Transactions(link.gateway.split("'")[1])
    writer, app, group = (f"{link.name}-{name}{step}" for name in ("writer", "app", "group"))
    try:
        traffic.write(writer, inputs)
        traffic.process(app, group, inputs, output, **{"group.protocol": "consumer"})
        traffic.go_on(writer, app)
        wait_until(lambda: end(link.target, output) > 5, "it is copied", 240)
        asked = link.start("promote", "--topics", f"{inputs},{output}", "-o", "json")
        wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)
        died = not gateway.running
        gateway.close()
        gateway = served(link)
        asked.wait()
        state = str(asked.json["state"])
        traffic.go_on(writer, app)
        if state != "promoted":
            moved(here, link, "promote", "promoted", "--topics", f"{inputs},{output}")
        traffic.go_on(writer, app)
        traffic.end()
    finally:
        traffic.close()
        gateway.close()
    assert traffic.failures == []
    require_whole_transactions(traffic, link.target.bootstrap, inputs)
    require_processed(link.target.bootstrap, inputs, output)
    return state if died else f"{state}, not killed"


@pytest.mark.timeout(600)
def test_a_producer_that_was_fenced_stays_fenced_behind_the_move(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.fenced", PARTITIONS)
    run = link.run_inside()
    served(link)
    traffic, name = Transactions(link.gateway.split("'")[1]), f"{link.name}-id"
    old = traffic.producer(name)
    committed(old, topic, 1)
    new = traffic.producer(name)
    committed(new, topic, 2)
    wait_until(lambda: end(link.target, topic) >= 2, f"the run copies: {run.said}", 240)
    promoted(here, link)
    assert is_fenced(old, topic)
    committed(new, topic, 3)
    newest = traffic.producer(name)
    assert is_fenced(new, topic)
    committed(newest, topic, 4)
    found = sorted(value for _, _, value in committed_values(link.target.bootstrap, topic))
    assert found == [1, 2, 3, 4]


def committed(producer: Producer, topic: str, number: int) -> None:
    producer.begin_transaction()
    producer.produce(topic, str(number), partition=0)
    producer.commit_transaction(60)


def is_fenced(producer: Producer, topic: str) -> bool:
    try:
        committed(producer, topic, 99)
    except KafkaException as error:
        why = error.args[0]
        return bool(why.fatal()) or why.code() == KafkaError._FENCED
    return False
