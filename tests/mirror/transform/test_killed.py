"""Links whose records go through a query, with processes killed at any moment."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.kafka import Record, create_topic, grow, produce, wait_for, wait_until
from tests.support.program import Program
from tests.support.spark_kills import VICTIMS, kill_part
from tests.support.transformed_link import QUERY, TransformedLink, through_query
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.model.nouns import Side, TopicPartition
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark(own=True), pytest.mark.timeout(1800)]
EACH = 400
"""Records that are produced before each kill."""
PATIENCE = 600.0
"""Seconds for what takes a tenth of that on a machine that has nothing else to do."""


def positions(link: TransformedLink) -> dict[TopicPartition, TransformedPosition]:
    config = load(link.file, transforms=True)
    with (
        Admin(config.target, Side.TARGET) as target,
        Client(config.target, Side.TARGET, target) as client,
    ):
        return PositionsTopic(target, client, config.link).seen()


def find(cluster: LocalCluster, topic: str) -> int:
    """Return how many partitions a topic has, 0 if it is not there."""
    found = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=30).topics
    return len(found[topic].partitions) if topic in found else 0


def read(link: TransformedLink) -> int:
    return sum(each.read for each in positions(link).values())


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.soak)])
def test_each_record_goes_through_once_wherever_processes_are_killed(
    kills: int,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    rng: random.Random,
) -> None:
    link = TransformedLink(source, target, new_name("killed"), tmp_path)
    create_topic(source.bootstrap, link.topic, 2)
    file = link.write({"sql": QUERY, "max_offsets": 40}, run={"discover": "1s"})
    program = Program(tmp_path, "run", str(file), name="run0")
    grown = [*range(10**6, 10**6 + 20)]
    try:
        wait_until(lambda: bool(find(target, link.clean)), "the mirror topic", PATIENCE)
        grow(source.bootstrap, link.topic, 3)
        wait_until(lambda: find(target, link.clean) == 3, "its third partition", PATIENCE)
        more = [Record(b"k%d" % n, b"v%d" % n, partition=2) for n in grown]
        produce(source.bootstrap, link.topic, more)
        for number in range(kills):
            link.produced(range(number * EACH, (number + 1) * EACH))
            if not program.running:
                program = Program(tmp_path, "run", str(file), name=f"run{number}")
            goal, running = number * EACH + 20 + rng.randrange(1, EACH // 2), program

            def moved(goal: int = goal, running: Program = running) -> bool:
                return read(link) > goal or not running.running

            wait_until(moved, "records get through", PATIENCE)
            time.sleep(rng.random())
            victim = "driver" if number == kills - 1 else rng.choice(VICTIMS)
            kill_part(running, victim, running.workers, rng)
    finally:
        program.close()
    last = Program(tmp_path, "run", str(file), "--until-caught-up", "--output", "json", name="last")
    assert last.wait(PATIENCE) == 0, last.said
    everything = [*range(kills * EACH), *grown]
    wait_for(lambda: link.values(3), through_query(everything), "each record once")
    told = positions(link)
    assert sum(each.read for each in told.values()) == len(everything)
    assert sum(each.written for each in told.values()) == through_query(everything).total()
    for partition in (0, 1):
        order = [int((r.key or b"k0")[1:]) for r in link.written() if r.partition == partition]
        assert order == sorted(order)
    assert json.loads(last.out.read_text())["complete"]
