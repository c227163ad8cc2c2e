"""One of two gateways is frozen while topics move: nothing is lost, doubled or held."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support.clients.gateways import (
    all_read_by,
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from towpath.ledger.entries import PromotionStep

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
LEADER, FOLLOWER = 0, 1
STEPS = {
    PromotionStep.NEAR: "come to a held join",
    PromotionStep.GATHERED: "offsets are being written",
}


def begun(link: Link, traffic: list[Traffic], group: str, topic: str) -> None:
    """Let clients write and read through both gateways."""
    for number, each in enumerate(traffic):
        each.write(number)
        each.join(group, **{"group.protocol": "consumer"})
    wait_until(lambda: all(len(each.read[group]) > 20 for each in traffic), "all read", 90)
    wait_until(lambda: end(link.target, topic) > 20, "the run copies", 240)


def ended(link: Link, traffic: list[Traffic], group: str) -> None:
    """All that was written is on the target, once and in order, and is read."""
    for each in traffic:
        go_on(each, group)
    for each in traffic:
        each.end_writing()
    sent = traffic[0].sent | traffic[1].sent
    all_read_by(traffic, sum(sent.values()), group)
    require_whole(Traffic("", traffic[0].topic, sent=sent), link.target.bootstrap)


def frozen(gateway: Program, seconds: float) -> None:
    """Freeze a gateway for a while."""
    os.killpg(gateway.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.killpg(gateway.pid, signal.SIGCONT)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("who", [LEADER, FOLLOWER])
@pytest.mark.parametrize("step", [PromotionStep.NEAR, PromotionStep.GATHERED])
def test_a_gateway_that_is_frozen_while_topics_move_sends_nothing_when_it_wakes_up(
    gateway_link: Link, here: Here, who: int, step: PromotionStep
) -> None:
    """Members are held, or producers will be at once; the other one goes on without it."""
    link, both = gateway_link, [gateway_link, another(gateway_link)]
    topic = create_topic(link.source.bootstrap, f"{link.name}.frozen", PARTITIONS)
    link.run_inside()
    gateways = [served(each) for each in both]
    traffic = [Traffic(bootstrap_of(each), topic) for each in both]
    group = f"{link.name}-group"
    try:
        begun(link, traffic, group, topic)
        asked = link.start("promote", "-o", "json")
        wait_until(lambda: STEPS[step] in asked.said or not asked.running, "it goes on", 60)
        frozen(gateways[who], 25)
        asked.wait(150)
        if asked.json["state"] != "promoted":
            promoted(here, link)
        ends = ends_of(link.source, topic)
        ended(link, traffic, group)
        assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
        print(who, step, asked.json["state"], asked.json["reasons"])  # noqa: T201
    finally:
        for each in traffic:
            each.close()
        for gateway in gateways:
            gateway.close()
