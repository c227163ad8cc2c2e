"""Members that have something in hand for longer than their session move without an error."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.support.clients.applications import set_group_config
from tests.support.clients.gateways import bootstrap_of, served
from tests.support.clients.moving import PARTITIONS, QUIET
from tests.support.clients.quick_links import light_run, quick_link
from tests.support.clusters.clusters import Clusters
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.soak]
SESSION, BUSY = "6000", 15.0
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": SESSION}
KINDS: dict[str, dict[str, Any]] = {
    "classic": OFTEN,
    "cooperative": {**OFTEN, "partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
EACH = 40


@pytest.fixture
def link(clusters: Clusters, tmp_path: Path, new_name: Callable[[str], str]) -> Iterator[Link]:
    made = quick_link(clusters, tmp_path, new_name("slow"))
    yield made
    for program in made.programs:
        program.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_member_that_is_busy_for_longer_than_its_session_commits_before_it_moves(
    link: Link, kind: str
) -> None:
    topic, group = create_topic(link.source.bootstrap, f"{link.name}.in", PARTITIONS), link.name
    set_group_config(link.source.bootstrap, group, "consumer.session.timeout.ms", SESSION)
    run, _ = light_run(link), served(link)
    write(link, topic)
    wait_until(lambda: end(link.target, topic) >= EACH // PARTITIONS, "it is copied", 60)
    config = {"bootstrap.servers": bootstrap_of(link), "group.id": group, **QUIET, **KINDS[kind]}
    config |= {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    try:
        consumer.subscribe([topic])
        read = records(consumer, EACH)
        asked = link.start("promote", "--topics", topic, "-o", "json")
        wait_until(
            lambda: "come to a held join" in asked.said, lambda: f"it begins: {asked.said}", 60
        )
        time.sleep(BUSY)
        assert asked.running, f"it waits for the member: {asked.said}"
        assert consumer.commit(asynchronous=False)
        while asked.running:
            read += consumed(consumer)
        assert asked.json["state"] == "promoted", f"{asked.said} {run.said}"
        write(link, topic, EACH)
        read += records(consumer, EACH)
    finally:
        consumer.close()
    assert Counter(read) == Counter(range(2 * EACH)), "each is read once"


def write(link: Link, topic: str, first: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_of(link), **QUIET})
    for number in range(first, first + EACH):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def records(consumer: Consumer, count: int) -> list[int]:
    found = list[int]()

    def are_read() -> bool:
        found.extend(consumed(consumer))
        return len(found) >= count

    wait_until(are_read, "all is read", 60)
    return found


def consumed(consumer: Consumer) -> list[int]:
    found = consumer.consume(EACH, 0.2)
    assert [each.error() for each in found if each.error() is not None] == []
    return [int(each.value() or b"") for each in found]
