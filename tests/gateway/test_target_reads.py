"""Clients read mirror topics on the target while records go to the source, until all has moved."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.clients.gateways import all_read, ends_of, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


def test_groups_move_once_nobody_reads_at_the_source_and_topics_later(
    reading_link: Link, here: Here
) -> None:
    link = reading_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.read", PARTITIONS)
    run = link.run_inside()
    bootstrap = link.gateway.split("'")[1]
    before = Traffic(link.source.bootstrap, topic, idempotent=False)
    traffic = Traffic(bootstrap, topic)
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    old = [Traffic(link.source.bootstrap, topic) for _ in range(2)]
    try:
        before.write(0)
        old[0].join(classic, **OFTEN)
        old[1].join(new, **{"group.protocol": "consumer"})
        go_on(old[0], classic)
        go_on(old[1], new)
        wait_for_end(link.target, topic, 20, run)
        gateway = served(link)
        traffic.write(1)
        traffic.join(classic, **OFTEN)
        traffic.join(new, **{"group.protocol": "consumer"})
        assert_read_without_a_group(bootstrap, topic, ends_of(link.source, topic)[0])
        refused = here("promote", str(link.file), "--groups", classic, "-o", "json")
        assert [each["code"] for each in refused.json["reasons"]] == ["PROMOTE_GROUP_MEMBERS"]
        time.sleep(2)
        assert traffic.read == {}, "members wait"
        for each in old:
            each.close()
        for group, way in ((classic, old[0]), (new, old[1])):
            promoted(here, link, "--groups", group)
            go_on(traffic, group)
            assert {*way.read[group]}.isdisjoint(traffic.read[group]), "nothing is read twice"
        shown = here("link", "show", str(link.file), "-o", "json").json["link"]
        assert shown["promoted_alone"] == shown["promoted_groups"] == [classic, new]
        before.end_writing()
        promoted(here, link)
        ends = ends_of(link.source, topic)
        go_on(traffic, classic, new)
        errors = [each.errors.copy() for each in (before, traffic, *old)]
        twice = {
            group: max(Counter([*way.read[group], *traffic.read[group]]).values())
            for group, way in ((classic, old[0]), (new, old[1]))
        }
        gateway.kill9()
        served(link)
        go_on(traffic, classic, new)
        traffic.end_writing()
        traffic.sent |= before.sent
        for group, way in ((classic, old[0]), (new, old[1])):
            traffic.read[group] += way.read[group]
        all_read(traffic, sum(traffic.sent.values()), classic, new)
    finally:
        for each in (*old, before, traffic):
            each.close()
    assert errors == [[], [], [], []]
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)
    assert twice == {classic: 1, new: 1}, "nothing is read twice, until sessions end by a kill"


def assert_read_without_a_group(bootstrap: str, topic: str, at: int) -> None:
    """A client without a group reads the mirror, also from where this has not come yet."""
    config = {"bootstrap.servers": bootstrap, "group.id": "none", "log_level": 0}
    consumer = Consumer({**config, "enable.auto.commit": False, "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, 0, at)])
    message = consumer.poll(30)
    assert message is not None
    assert (message.error(), message.offset()) == (None, at)
    consumer.close()
