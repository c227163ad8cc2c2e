"""Who still writes to the source, on a real broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.kafka import Record, create_topic, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.plan.writers import ends, moved, writing

pytestmark = pytest.mark.broker
TEN = [Record(None, b"%d" % number) for number in range(10)]


@pytest.fixture
def topic(source: LocalCluster, new_name: Callable[[str], str]) -> TopicName:
    return TopicName(create_topic(source.bootstrap, new_name("written"), 2))


@pytest.fixture
def admin(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, topic: TopicName
) -> Iterator[Admin]:
    config = Mirror(tmp_path, source, target, topic).config
    with Admin(config.source, Side.SOURCE) as made:
        yield made


def test_nobody_writes(admin: Admin, source: LocalCluster, topic: TopicName) -> None:
    produce(source.bootstrap, topic, TEN, {"enable.idempotence": True})
    last, found = writing(admin, [topic], 0.0, threading.Event())
    assert last == {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 0}
    assert found == ()


@pytest.mark.parametrize("idempotent", [True, False])
def test_who_wrote_is_named(
    admin: Admin, source: LocalCluster, topic: TopicName, idempotent: bool
) -> None:
    first = ends(admin, [topic])
    produce(source.bootstrap, topic, TEN, {"enable.idempotence": idempotent})
    [found] = moved(admin, first, ends(admin, [topic]))
    assert found.tp == TopicPartition(topic, 0)
    start = f"{topic}-0: grew from 0 to 10 while nobody should write; "
    assert str(found).startswith(start)
    rest = str(found).removeprefix(start)
    if idempotent:
        assert rest.startswith("producer ")
        assert rest.endswith(" wrote last")
    else:
        assert rest == "the producer has no id, as it is not idempotent"


def test_an_open_transaction_is_named(admin: Admin, source: LocalCluster, topic: TopicName) -> None:
    settings = {"bootstrap.servers": source.bootstrap, "transactional.id": topic}
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=1)
    assert producer.flush(30) == 0
    last = ends(admin, [topic])
    [found] = moved(admin, last, last)
    assert str(found).startswith(f"{topic}-1: a transaction of producer ")
    producer.abort_transaction(30)
