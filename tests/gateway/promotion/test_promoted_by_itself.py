"""With `gateway.promote: auto` topics move once all clients have come, without a command."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import go_on, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.pages.scrape import Scrape

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(600)]


def test_topics_move_by_themselves_once_every_member_comes_through_the_gateway(
    gateway_link: Link,
) -> None:
    link = gateway_link
    link.gateway = link.gateway.replace("hold:", "promote: auto, hold:")
    topic = create_topic(link.source.bootstrap, f"{link.name}.auto", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    outside = Traffic(link.source.bootstrap, topic)
    group = f"{link.name}-group"

    def done() -> float:
        got = Scrape(link.gateway.split("'")[-2])
        return got.get("towpath_gateway_moves_total", way="promote", outcome="done") or 0

    try:
        traffic.write(0)
        traffic.join(group, **{"heartbeat.interval.ms": 500})
        outside.join(group, **{"heartbeat.interval.ms": 500})  # one still knows the source alone
        wait_until(lambda: len(outside.read[group]) > 20, "both read", 60)
        wait_for_end(link.target, topic, 20, run)
        wait_until(lambda: "PROMOTE_MEMBERS_DIRECT" in gateway.said, "the log says why", 60)
        assert done() == 0
        outside.close()
        wait_until(lambda: done() == 1, lambda: f"it promotes: {gateway.said}", 180)
        begun = end(link.source, topic)
        go_on(traffic, group)
        assert end(link.source, topic) == begun, "nothing came to the source any more"
        traffic.end_writing()
        read = {*outside.read[group]}
        total = sum(traffic.sent.values())
        wait_until(lambda: len(read | {*traffic.read[group]}) >= total, "all is read", 90)
    finally:
        outside.close()
        traffic.close()
    assert traffic.errors == []
    require_whole(traffic, link.target.bootstrap)
    twice = Counter([*outside.read[group], *traffic.read[group]])
    assert max(twice.values()) == 1, "nothing is read twice"
    assert gateway.said.count("promotion.waits") <= 4, "reasons are told once"
