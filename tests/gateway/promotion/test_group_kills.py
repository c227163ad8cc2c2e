"""A gateway that is killed while it promotes a group moves it once, to where it was."""

from __future__ import annotations

import itertools

import pytest

from tests.support.clients.gateways import go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import commit, create_topic, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
PARTS = 2
"""Each test plays every second write, the last one a write that does not come any more."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_gateway_that_is_killed_around_each_write_moves_a_group_once(
    reading_link: Link, here: Here, part: int
) -> None:
    link, states = reading_link, dict[int, str]()
    topic = create_topic(link.source.bootstrap, f"{link.name}.killed", PARTITIONS)
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    wait_for_end(link.target, topic, -1, run)
    traffic = Traffic(bootstrap, topic)
    gateway = served(link)
    try:
        traffic.write(0)
        wait_for_end(link.target, topic, 40, run)
        for step in itertools.count(1 + part, PARTS):
            group = f"{link.name}-{step}"
            commit(link.source.bootstrap, group, topic, 0, 20)
            commit(link.source.bootstrap, group, topic, 1, 30)
            gateway.close()
            gateway = served(link, f"kill={step}")
            traffic.join(group, **OFTEN)
            asked = link.start("promote", "--groups", group, "-o", "json")
            wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)  # noqa: B023
            died = not gateway.running
            gateway.close()
            gateway = served(link)
            asked.wait()
            states[step] = str(asked.json["state"])
            if states[step] != "promoted":
                promoted(here, link, "--groups", group)
            go_on(traffic, group)
            both = lambda: len({part for part, _ in traffic.read[group]}) == PARTITIONS  # noqa: B023, E731
            wait_until(both, "it reads both partitions", 60)
            first_read = {part: min(n for p, n in traffic.read[group] if p == part)
                          for part in range(PARTITIONS)}  # fmt: skip
            assert first_read == {0: 20, 1: 30}, "it went on exactly there"
            if not died:
                break
        traffic.end_writing()
    finally:
        traffic.close()
        gateway.close()
    print(states)  # noqa: T201
    assert {"undone", "promoted"} <= {*states.values()}
    require_whole(traffic, link.source.bootstrap)
