"""Groups are promoted before their topics, by themselves, unless transactions forbid it."""

from __future__ import annotations

from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.clients.gateways import all_read, go_on, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


@pytest.mark.timeout(900)
def test_groups_move_by_themselves_and_late_members_are_named(
    reading_link: Link, here: Here
) -> None:
    link = reading_link
    link.gateway = link.gateway.replace("reads: target", "reads: target, promote: auto")
    topic = create_topic(link.source.bootstrap, f"{link.name}.auto", PARTITIONS)
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    old, traffic = Traffic(link.source.bootstrap, topic), Traffic(bootstrap, topic)
    late = Traffic(link.source.bootstrap, topic)
    known, new = f"{link.name}-known", f"{link.name}-new"
    try:
        wait_for_end(link.target, topic, -1, run)
        gateway = served(link)
        traffic.write(0)
        old.join(known, **OFTEN)
        go_on(old, known)
        traffic.join(known, **OFTEN)
        traffic.join(new, **{"group.protocol": "consumer"})
        wait_for_end(link.target, topic, 20, run)
        go_on(traffic, new)
        wait_until(lambda: "group.waits" in gateway.said, "the log tells who is left", 60)
        assert known not in traffic.read, "members wait"
        old.close()
        wait_until(lambda: len(traffic.read[known]) > 50, "it moved by itself", 90)
        late.join(known, **OFTEN)
        wait_until(lambda: "PROMOTE_GROUP_STRAY" in gateway.said, "a late member is named", 60)
        late.close()
        again = here("promote", str(link.file), "--groups", known, "-o", "json")
        assert [each["code"] for each in again.json["reasons"]] == ["PROMOTE_GROUP"]
        back = here("revert", str(link.file), "-o", "json")
        assert [each["code"] for each in back.json["reasons"]] == ["REVERT_NO_LINK"]
        traffic.end_writing()
        traffic.read[known] += old.read[known]
        all_read(traffic, sum(traffic.sent.values()), known, new)
    finally:
        for each in (old, late, traffic):
            each.close()
    assert (old.errors, traffic.errors, late.errors) == ([], [], [])
    require_whole(traffic, link.source.bootstrap)
    for group in (known, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"


@pytest.mark.timeout(600)
def test_a_group_of_a_transactional_producer_moves_with_its_topics(
    reading_link: Link, here: Here
) -> None:
    link = reading_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.exactly", PARTITIONS)
    run, group, name = link.run_inside(), f"{link.name}-exactly", f"{link.name}-id"
    processed(link.source.bootstrap, topic, group, name)
    wait_for_end(link.target, topic, 0, run)
    served(link)
    refused = here("promote", str(link.file), "--groups", group, "-o", "json")
    assert (refused.code, refused.json["state"]) == (3, "refused"), refused.said
    (why,) = refused.json["reasons"]
    assert why["code"] == "PROMOTE_GROUP"
    assert f"transactional id {name} commits its offsets" in why["text"]


def processed(bootstrap: str, topic: str, group: str, name: str) -> None:
    """Write a record, and commit an offset of a group, in one transaction."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    offsets = [TopicPartition(topic, 0, 0)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    consumer.close()
