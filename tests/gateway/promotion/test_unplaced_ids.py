"""Transactional ids that begin where their topics have left, and go there by themselves."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.clients.gateways import promoted, served
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.moving_java import MovingClient
from tests.support.clients.moving_transactions import Transactions, committed_values
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(600)]
VERSIONS = ("3.9.2", "4.4.0")


def write_once(producer: Producer, topic: str, value: str) -> None:
    producer.begin_transaction()
    producer.produce(topic, json.dumps(value), partition=0)
    producer.commit_transaction(60)


def test_new_ids_go_to_promoted_topics_and_those_of_before_a_restart_too(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    early, later, java = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("early", "later", "java")
    )
    link.gateway = link.gateway.replace("hold:", f"batches: {{first: [{early}, {java}]}}, hold:")
    run, gateway = link.run_inside(), served(link)
    traffic = Transactions(link.gateway.split("'")[1])
    clients = [MovingClient(link.folder, each, "transact", f"{link.name}-{each}", java)
               for each in VERSIONS]  # fmt: skip
    try:
        for topic in (early, later, java):
            produce(link.source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(30)])
        copied = lambda: all(end(link.target, each) >= 30 for each in (early, later, java))  # noqa: E731
        wait_until(copied, lambda: f"the run copies: {run.said}", 240)
        promoted(here, link, "--batch", "first")
        new, old, unused = (
            traffic.producer(f"{link.name}-{name}") for name in ("new", "old", "unused")
        )
        write_once(new, early, "a new id")
        write_once(old, later, "of the source")
        for each in clients:
            each.start(traffic.bootstrap)
        wait_until(lambda: all(len(each.numbers("COMMITTED")) > 5 for each in clients),
                   lambda: f"they write: {[each.failures for each in clients]}", 90)  # fmt: skip
        for producer, topic in ((new, later), (old, early)):
            producer.begin_transaction()
            producer.produce(topic, b"of two clusters", partition=0)
            with pytest.raises(KafkaException, match="POLICY_VIOLATION") as refused:
                producer.commit_transaction(60)
            assert refused.value.args[0].txn_requires_abort()
            producer.abort_transaction(60)
        write_once(new, early, "it goes on")
        write_once(old, later, "it goes on, too")
        assert gateway.said.count("PROMOTE_TRANSACTIONS") == 2, gateway.said
        for each in clients:
            each.stop()
        gateway.kill9()
        gateway = served(link)
        promoted(here, link)
        write_once(unused, early, "began before a restart")
    finally:
        traffic.close()
        for each in clients:
            each.kill()
    assert [each.failures for each in clients] == [[], []]
    assert traffic.failures == []
    there = [value for _, _, value in committed_values(link.target.bootstrap, early)
             if isinstance(value, str)]  # fmt: skip
    assert there == ["a new id", "it goes on", "began before a restart"]
    kept = [value for _, _, value in committed_values(link.target.bootstrap, later)
            if isinstance(value, str)]  # fmt: skip
    assert kept == ["of the source", "it goes on, too"]
