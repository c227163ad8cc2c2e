"""A target that throttles the login of a link: promotions end with a word of it, in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.gateways import go_on, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.quick_links import light_run
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end
from towpath.cluster.admin import Admin
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.timeout(600)]
HOLD, SLACK = 15.0, 15.0
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    with (
        LocalCluster(brokers=1, home=tmp_path / "source") as source,
        LocalCluster(brokers=1, home=tmp_path / "target") as target,
    ):
        first, one, two = (f"127.0.0.1:{each}" for each in ports.reserve(3))
        nodes = f"nodes: {{1: '{one}'}}, targets: {{1: '{two}'}}"
        gateway = f"{{listen: '{first}', {nodes}, hold: {HOLD:.0f}s}}"
        made = Link(tmp_path, source, target, "throttled", gateway=gateway, timeout="10s")
        yield made
        for program in made.programs:
            program.close()


@pytest.fixture
def traffic(link: Link) -> Iterator[Traffic]:
    topic = create_topic(link.source.bootstrap, f"{link.name}.a", PARTITIONS)
    made = Traffic(link.gateway.split("'")[1], topic)
    run = light_run(link)
    served(link)
    try:
        made.write(0)
        wait_for_end(link.target, topic, 20, run)
        yield made
    finally:
        made.close()


def throttle(link: Link, rate: float | None) -> None:
    with Admin(load(link.file).target, Side.TARGET) as admin:
        for key in (QuotaKey.CONSUMER_BYTE_RATE, QuotaKey.PRODUCER_BYTE_RATE):
            entity = (Entity(EntityKind.CLIENT_ID, "towpath"),)
            admin.quotas.change(Quota(entity, key), rate)


def test_a_promotion_that_quotas_would_end_is_refused_with_a_word_of_them(
    link: Link, traffic: Traffic
) -> None:
    group = f"{link.name}-group"
    traffic.join(group, **OFTEN)
    go_on(traffic, group)
    throttle(link, 1000)
    asked = link.start("promote", "-o", "json")
    assert asked.wait(150) in {3, 4}
    assert "CLUSTER_THROTTLED" in asked.out.read_text(), asked.said
    assert "producer_byte_rate" in asked.said
    go_on(traffic, group)
    assert max(traffic.waits) < HOLD, "nobody was held"
    assert traffic.errors == []


def test_one_that_meets_quotas_in_its_middle_is_undone_in_time(
    link: Link, traffic: Traffic
) -> None:
    group = f"{link.name}-group"
    traffic.join(group, **{"group.protocol": "consumer"})  # it gives back every 5 s
    go_on(traffic, group)
    asked = link.start("promote", "-o", "json")
    wait_until(lambda: "come to a held join" in asked.said, lambda: asked.said, 60)
    throttle(link, 1)
    wait_until(lambda: not asked.running, lambda: asked.said, 300)
    assert asked.wait(1) in {3, 4}
    assert "CLUSTER_THROTTLED" in asked.out.read_text(), asked.said
    throttle(link, None)
    go_on(traffic, group)
    assert max(traffic.waits) < HOLD + SLACK, "producers were held no longer than they may be"
    traffic.end_writing()
    assert traffic.errors == []
    require_whole(traffic, link.source.bootstrap)
