"""Gateways that are killed lose no transaction, and producers that were fenced stay fenced."""

from __future__ import annotations

import itertools

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.support.clients.gateways import moved, promoted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_transactions import (
    Transactions,
    committed_values,
    require_processed,
    require_whole_transactions,
)
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.program import Program
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
PARTS = 4
"""Each test plays every fourth write, the last one a write that does not come any more."""
BACK_PARTS, MOST = 9, 9


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_gateway_that_is_killed_around_each_write_loses_no_transaction(
    gateway_link: Link, here: Here, part: int
) -> None:
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    for step in itertools.count(1 + part, PARTS):
        flow = Flow(link, step)
        flow.create()
        wait_for_end(link.target, flow.output, -1, run)
        gateway = served(link)
        try:
            flow.begin()
            flow.go_on()
            wait_until(lambda: end(link.target, flow.output) > 5, "it is copied", 240)  # noqa: B023
            gateway.close()
            states[step], gateway = flow.killed_around(here, "promote")
            flow.end()
        finally:
            flow.traffic.close()
            gateway.close()
        flow.require_whole(link.target)
        if "not killed" in states[step]:
            break
    print(states)  # noqa: T201
    assert {"undone", "promoted"} <= {*states.values()}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(BACK_PARTS))
def test_a_gateway_that_is_killed_around_each_write_on_the_way_back_loses_no_transaction(
    gateway_link: Link, here: Here, part: int
) -> None:
    """All producers begin while all topics are on the target: later ones begin at the source."""
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    gateway = served(link)
    steps = range(1 + part, 1 + part + MOST * BACK_PARTS, BACK_PARTS)
    flows = [Flow(link, step) for step in steps]
    try:
        for each in flows:
            each.create()
            each.begin()
        for each in flows:
            each.go_on()
            wait_for_end(link.target, each.output, 5, run)
        promoted(here, link)
        turned_round(link)
        for each in flows:
            each.go_on()
            gateway.close()
            states[each.step], gateway = each.killed_around(here, "revert")
            if "not killed" in states[each.step]:
                break
        for each in flows:
            each.end()
    finally:
        for each in flows:
            each.traffic.close()
        gateway.close()
    for each in flows:
        each.require_whole(link.source if each.step in states else link.target)
    print(states)  # noqa: T201
    assert {"undone", "reverted"} <= {*states.values()}
    assert any("not killed" in each for each in states.values()), "it writes no more often"


class Flow:
    """Producers that write two topics in transactions, and are moved while a gateway is killed."""

    def __init__(self, link: Link, step: int) -> None:
        self.link, self.step = link, step
        self.inputs, self.output = (f"{link.name}.{name}{step}" for name in ("in", "out"))
        self.traffic = Transactions(link.gateway.split("'")[1])
        self._names = [f"{link.name}-{name}{step}" for name in ("writer", "app")]

    def create(self) -> None:
        for name in (self.inputs, self.output):
            create_topic(self.link.source.bootstrap, name, PARTITIONS)

    def begin(self) -> None:
        writer, app = self._names
        self.traffic.write(writer, self.inputs)
        group = f"{self.link.name}-group{self.step}"
        self.traffic.process(app, group, self.inputs, self.output, **{"group.protocol": "consumer"})

    def go_on(self) -> None:
        self.traffic.go_on(*self._names)

    def end(self) -> None:
        self.traffic.end()

    def killed_around(self, here: Here, command: str) -> tuple[str, Program]:
        """Kill a gateway around a write of a move; return what became of it, and the next one."""
        link, topics = self.link, f"{self.inputs},{self.output}"
        done = "promoted" if command == "promote" else "reverted"
        gateway = served(link, f"kill={self.step}", "ids")
        self.go_on()
        asked = link.start(command, "--topics", topics, "-o", "json")
        wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)
        died = not gateway.running
        gateway.close()
        gateway = served(link)
        asked.wait()
        state = str(asked.json["state"])
        self.go_on()
        if state != done:
            moved(here, link, command, done, "--topics", topics)
        self.go_on()
        return state if died else f"{state}, not killed", gateway

    def require_whole(self, cluster: LocalCluster) -> None:
        assert self.traffic.failures == []
        require_whole_transactions(self.traffic, cluster.bootstrap, self.inputs)
        require_processed(cluster.bootstrap, self.inputs, self.output)


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
    wait_until(lambda: end(link.target, topic) >= 2, lambda: f"the run copies: {run.said}", 240)
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
