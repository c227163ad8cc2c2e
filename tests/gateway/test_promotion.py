"""Topics and groups move to the target while their clients write and read."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic, end_offsets, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.bootstrap}).list_topics().brokers))
        for each in (source, target)
    ]
    first, one, two = (f"127.0.0.1:{each}" for each in ports.reserve(3))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += " hold: 15s}"
    made = Link(tmp_path, source, target, new_name("moves"), gateway=gateway, timeout="10s")
    yield made
    for program in made.programs:
        program.close()


def served(link: Link) -> Program:
    program = link.start("gateway")
    wait_until(lambda: "listening on" in program.said, f"a gateway listens: {program.said}", 60)
    return program


def promoted(here: Here, link: Link) -> Any:
    """Promote; where the machine was too slow, everything went on as before, so do it again."""
    done = here("promote", str(link.file), "-o", "json")
    for _ in range(2):
        if done.json["state"] == "undone":
            done = here("promote", str(link.file), "-o", "json")
    assert (done.code, done.json["state"]) == (0, "promoted"), done.said
    return done.json


def test_clients_move_and_notice_nothing(link: Link, here: Here) -> None:
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    bootstrap = link.gateway.split("'")[1]
    traffic = Traffic(bootstrap, topic)
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    done: Any = {}
    ends: list[int] = []
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(classic, **{"heartbeat.interval.ms": 500})
        traffic.join(new, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]), "all read", 60)
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)

        told = here("promote", str(link.file), "--dry-run", "-o", "json")
        assert (told.code, told.json["state"]) == (0, "told"), told.said
        assert f"group {classic}: 1 of 1 member came through this gateway" in told.json["told"]
        done = promoted(here, link)
        ends = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
        before = {group: len(read) for group, read in traffic.read.items()}

        def go_on() -> bool:
            return all(len(traffic.read[each]) > before[each] + 50 for each in (classic, new))

        wait_until(go_on, f"members read on the target: {traffic.errors} {gateway.said}", 60)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        wait_until(
            lambda: all(len({*traffic.read[each]}) >= total for each in (classic, new)),
            f"all {total} are read",
            60,
        )
    finally:
        traffic.close()
    assert traffic.errors == []
    after = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
    assert after == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    silent = {
        group: max(b - a for a, b in pairwise(times)) for group, times in traffic.times.items()
    }
    print(f"held {done['held_ms']} ms; longest send {max(traffic.waits):.2f} s; silent {silent}")  # noqa: T201


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_a_gateway_that_is_killed_at_any_moment_loses_nothing(
    link: Link, here: Here, seed: int
) -> None:
    dice = random.Random(seed)
    topic = create_topic(link.source.bootstrap, f"{link.name}.killed", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    group = f"{link.name}-new"
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(group, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[group]) > 20, "all read", 60)
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
        for _ in range(4):
            asked = link.start("promote")
            time.sleep(dice.uniform(0, 12))  # wherever it is then
            gateway.kill9()
            gateway = served(link)
            asked.wait()
            if is_promoted(here, link):
                break
        else:
            promoted(here, link)
        count = len(traffic.read[group])
        wait_until(lambda: len(traffic.read[group]) > count + 50, "members read on", 90)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        wait_until(lambda: len({*traffic.read[group]}) >= total, f"all {total} are read", 90)
    finally:
        traffic.close()
    require_whole(traffic, link.target.bootstrap)


def is_promoted(here: Here, link: Link) -> bool:
    told = here("promote", str(link.file), "--dry-run", "-o", "json").json["told"]
    return any("no topic left to promote" in each for each in told)
