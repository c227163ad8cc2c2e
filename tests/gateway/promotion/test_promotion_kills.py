"""A gateway that is killed while topics move, there or back, loses and doubles nothing."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from tests.support.clients.gateways import (
    all_read,
    go_on,
    moved,
    promoted,
    served,
    turned_round,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import commit, create_topic, wait_until
from tests.support.links import Link, end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
PARTS = 4
"""Each test plays every fourth write, the last one a write that does not come any more."""
MOST = 15


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_gateway_that_is_killed_around_each_write_loses_nothing(
    gateway_link: Link, here: Here, part: int
) -> None:
    """The record is one of them: before it all goes on at the source, behind it at the target."""
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    for step in itertools.count(1 + part, PARTS):
        topic = create_topic(link.source.bootstrap, f"{link.name}.s{step}", PARTITIONS)
        wait_for_end(link.target, topic, -1, run)
        states[step] = killed_around(link, here, topic, step, "promote")
        if "not killed" in states[step]:
            break
    print(states)  # noqa: T201
    assert {"undone", "promoted"} <= {*states.values()}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_gateway_that_is_killed_around_each_write_on_the_way_back_loses_nothing(
    gateway_link: Link, here: Here, part: int
) -> None:
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    gateway = served(link)
    topics = {
        step: create_topic(link.source.bootstrap, f"{link.name}.b{step}", PARTITIONS)
        for step in range(1 + part, 1 + part + MOST * PARTS, PARTS)
    }

    def known() -> int:
        return len(here("link", "show", str(link.file), "-o", "json").json["topics"])

    wait_until(lambda: known() == len(topics), lambda: f"all are known: {run.said}", 240)
    for step, topic in topics.items():  # else a group would begin at the source by the second step
        commit(link.source.bootstrap, f"{link.name}-{step}", topic, 0, 0)
    promoted(here, link)
    gateway.close()
    back = turned_round(link)
    for step, topic in topics.items():
        states[step] = killed_around(link, here, topic, step, "revert", back)
        if "not killed" in states[step]:
            break
    print(states)  # noqa: T201
    assert {"undone", "reverted"} <= {*states.values()}
    assert "not killed" in states[step], "it writes no more often than topics were made"


def killed_around(
    link: Link, here: Here, topic: str, step: int, command: str, back: RunInside | None = None
) -> str:
    """Kill a gateway around a write of a move; return what became of the first request."""
    done, to = ("promoted", link.target) if command == "promote" else ("reverted", link.source)
    gateway = served(link, f"kill={step}")
    traffic = Traffic(link.gateway.split("'")[1], topic)
    group = f"{link.name}-{step}"
    try:
        traffic.write(0)
        traffic.join(group, **{"group.protocol": "consumer"})
        reads = lambda: len(traffic.read[group]) > 20  # noqa: E731
        wait_until(reads, lambda: f"all read: {traffic.errors} {gateway.said}", 60)
        wait_until(lambda: end(to, topic) > 20, lambda: f"it is copied: {back and back.said}", 240)
        asked = link.start(command, "--topics", topic, "-o", "json")
        wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)
        died = not gateway.running
        gateway.close()
        gateway = served(link)
        asked.wait()
        state = str(asked.json["state"])
        if state != done:
            moved(here, link, command, done, "--topics", topic)
        go_on(traffic, group)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), group)
    finally:
        traffic.close()
        gateway.close()
    require_whole(traffic, to.bootstrap)
    return state if died else f"{state}, not killed"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_a_gateway_that_is_killed_at_any_moment_loses_nothing(
    gateway_link: Link, here: Here, seed: int
) -> None:
    link, dice = gateway_link, random.Random(seed)
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
        wait_for_end(link.target, topic, 20, run)
        for _ in range(4):
            asked = link.start("promote")
            time.sleep(dice.uniform(0, 12))  # wherever it is then
            if dice.random() < 0.3:
                asked.close()
            gateway.kill9()
            gateway = served(link)
            if asked.running:
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
    told = here("promote", str(link.file), "--dry-run", "-o", "json").json
    return any(each["code"] == "PROMOTE_NOTHING" for each in told["reasons"])
