"""A gateway of another link at the addresses of one whose topics have moved."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from tests.support.clients.gateways import (
    INFORMED,
    all_read,
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.quick_links import light_run
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.timeout(600)]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
def test_producers_wait_at_it_and_go_on_at_their_own(
    gateway_link: Link, here: Here, *, idempotent: bool
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = light_run(link)
    gateway = served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic, idempotent=idempotent)
    group = f"{link.name}-group"
    try:
        traffic.write(0)
        wait_for_end(link.target, topic, 20, run)
        traffic.join(group, **OFTEN)
        go_on(traffic, group)
        promoted(here, link)
        go_on(traffic, group)
        there = ends_of(link.source, topic)
        gateway.kill9()
        other = replace(link, name=f"of-{link.name}", programs=link.programs)
        wrong = served(other)
        wait_until(lambda: "has promoted" in wrong.said, lambda: wrong.said, 60)
        assert topic in wrong.said
        before = len(traffic.waits)
        wait_until(lambda: "PROMOTE_OTHER_LINK" in wrong.said, lambda: wrong.said, 60)
        assert ends_of(link.source, topic) == there, "nothing came to the source"
        wrong.kill9()
        served(link)
        wait_until(lambda: len(traffic.waits) > before + 100, lambda: str(traffic.errors), 90)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), group)
    finally:
        traffic.close()
    assert ends_of(link.source, topic) == there
    told = [each for each in traffic.errors if not any(what in each for what in INFORMED)]
    assert told == []
    if idempotent:  # what others sent as the gateway was killed may be there twice
        require_whole(traffic, link.target.bootstrap)


def test_one_that_writes_now_and_then_beside_waits_once_its_topic_has_moved(
    gateway_link: Link, here: Here
) -> None:
    """Nobody holds it, as its gateway is of another link."""
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = light_run(link)
    served(link)
    beside = replace(another(link), name=f"of-{link.name}")
    gateway = served(beside)
    producer = Producer({"bootstrap.servers": bootstrap_of(beside), "enable.idempotence": True})
    answers: list[object] = []
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(10):
            producer.produce(topic, b"rare", on_delivery=lambda why, _: answers.append(why))
            producer.flush(1)

    writer = threading.Thread(target=write)
    for number in range(40):
        producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    writer.start()
    try:
        wait_for_end(link.target, topic, 10, run)
        promoted(here, link)
        there = ends_of(link.source, topic)
        wait_until(lambda: "PROMOTE_OTHER_LINK" in gateway.said, lambda: gateway.said, 60)
        assert ends_of(link.source, topic) == there, "nothing came to the source"
    finally:
        ended.set()
        writer.join()
    assert not [each for each in answers if each is not None], "no application was told of an error"
