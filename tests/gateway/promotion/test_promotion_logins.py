"""Clients that log in move to the target, with passwords and rights of their own on both sides."""

from __future__ import annotations

from collections import Counter

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.clients.gateways import all_read, begin_clients, ends_of, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import JavaTraffic
from tests.support.clusters.fleet import USERS
from tests.support.clusters.secured_moves import PASSWORD, SecuredMove, admit
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def look_from_the_source(link: SecuredMove, user: str, topic: str, group: str) -> None:
    """Clients that are logged in to the source find what has moved, if they may see it."""
    config = {**link.client(user), "bootstrap.servers": link.bootstrap, "group.id": group}
    consumer = Consumer(config)
    (found,) = consumer.committed([TopicPartition(topic, 0)], 30)
    assert found.offset > 0, "its coordinator is on the target"
    consumer.close()
    seen = AdminClient(config).list_topics(timeout=30)
    assert topic in seen.topics
    stranger = {"sasl.username": "stranger", "sasl.password": USERS["stranger"].reveal()}
    seen = AdminClient({**config, **stranger}).list_topics(timeout=30)
    assert topic not in seen.topics
    seen = AdminClient({**config, **stranger}).list_topics(topic, 30)
    error = seen.topics[topic].error
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("entrance", ["SECURED", pytest.param("SHORT", marks=pytest.mark.soak)])
def test_clients_that_log_in_move_and_notice_nothing(
    move: SecuredMove, here: Here, entrance: str
) -> None:
    """Those of `SHORT` log in again and again, on the same connections."""
    link, user = move, f"{move.name}-app"
    link.entrance = entrance
    admit(link.source, user, link.name)
    topic = create_topic(link.source.back_door, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    traffic = Traffic(link.bootstrap, topic, security=link.client(user))
    try:
        classic, new = begin_clients(traffic, link.name)
        wait_until(
            lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]),
            lambda: f"all read: {traffic.errors} {gateway.said}",
            60,
        )
        wait_for_end(link.target, topic, 20, run)
        refused = here("promote", str(link.file), "-o", "json")
        assert [each["code"] for each in refused.json["reasons"]] == ["PROMOTE_LOGIN"]
        assert f"no credential of {user} (SCRAM-SHA-256)" in refused.json["reasons"][0]["text"]
        admit(link.target, user, link.name)
        told = here("promote", str(link.file), "--dry-run", "-o", "json").json
        assert any(f"{user} (SCRAM-SHA-256)" in each for each in told["told"]), told
        also = f"User:{user} may write 1 mirror topic before they are promoted: {topic}"
        assert also in told["told"], told
        seen = promoted(here, link)
        ends = ends_of(link.source, topic)
        go_on(traffic, classic, new)
        look_from_the_source(link, user, topic, classic)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), classic, new)
    finally:
        traffic.close()
    assert traffic.errors == [], gateway.said
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.back_door)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    assert PASSWORD not in gateway.said
    print(f"held {seen['held_ms']}; longest send {max(traffic.waits):.2f} s")  # noqa: T201


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("version", "protocols", "entrance"),
    [("3.9.2", ["classic"], "SHORT"), ("4.4.0", ["classic", "consumer"], "SECURED")],
)
def test_java_clients_that_log_in_move_and_notice_nothing(
    move: SecuredMove, here: Here, version: str, protocols: list[str], entrance: str
) -> None:
    """The logins of those of `SHORT` end every few seconds."""
    link, user = move, f"{move.name}-app"
    link.entrance = entrance
    for cluster in (link.source, link.target):
        admit(cluster, user, link.name)
    topic = create_topic(link.source.back_door, f"{link.name}.java", PARTITIONS)
    run, secured = link.run_inside(), link.java_client(user)
    gateway = served(link)
    protocol = {"classic": {}, "consumer": {"group.protocol": "consumer"}}
    groups = {f"{link.name}-{each}": {**secured, **protocol[each]} for each in protocols}
    clients = JavaTraffic(link.folder, version, topic, groups, secured)
    try:
        clients.start(link.bootstrap)
        wait_until(
            lambda: end(link.target, topic) > 20,
            lambda: f"the run copies: {run.said} {gateway.said}",
            240,
        )
        seen = promoted(here, link)
        clients.go_on()
        sent = clients.end()
    finally:
        clients.kill()
    clients.require_whole(sent, link.target.back_door)
    longest = clients.longest
    print(f"{version}: held {seen['held_ms']} ms; longest send {longest} ms")  # noqa: T201
