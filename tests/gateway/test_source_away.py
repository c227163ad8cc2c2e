"""What is promoted is served while the source is away; the rest is, once it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.network.gate import Gate
from tests.support.program import Program
from towpath.dev import ports
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.ledger.entries import Promoted, PromotedPartition, PromotedTopic
from towpath.ledger.link import open_link
from towpath.model.nouns import TopicName
from towpath.settings import load

pytestmark = pytest.mark.broker


@pytest.fixture
def gate(source: SharedCluster) -> Iterator[Gate]:
    made = Gate(source.bootstrap)
    yield made
    made.close()


def broker_of(cluster: SharedCluster) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return next(iter(admin.list_topics(timeout=30).brokers))


def link_file(
    folder: Path, name: str, at: str, source: str, target: SharedCluster, nodes: tuple[int, int]
) -> Path:
    one, two = ports.reserve(2)
    file = folder / f"{source.rpartition(':')[2]}.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source}', request_timeout: 5s}}\n"
        f"target: {{bootstrap: '{target.bootstrap}', request_timeout: 10s}}\n"
        f"link: {name}\ntopics: {{include: ['{name}.*']}}\n"
        f"gateway: {{listen: '{at}', nodes: {{{nodes[0]}: '127.0.0.1:{one}'}},"
        f" targets: {{{nodes[1]}: '127.0.0.1:{two}'}}}}\n"
    )
    return file


def promote(file: Path, topic: str, group: str) -> None:
    """Write what a gateway writes when a topic has moved."""
    with open_link(load(file)) as link:
        link.prepare()
        there = link.source.topics.find(TopicName(topic))
        mirror = link.target.topics.find(TopicName(topic))
        assert there is not None
        assert mirror is not None
        moved = PromotedTopic(
            topic=TopicName(topic),
            source_id=there.id,
            target_id=mirror.id,
            partitions=(PromotedPartition(partition=0, end=0, producers=()),),
        )
        book = GatewayBook(link)
        book.begin()
        book.promote(
            Promoted(link=link.name, name="p", topics=(moved,), groups=(group,), at=1 << 60)
        )
        book.end()


def seen(bootstrap: str) -> set[str]:
    return {*AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics}


def read_as(bootstrap: str, group: str, topic: str) -> bytes | None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    found: list[bytes | None] = []

    def poll() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
        return bool(found)

    try:
        consumer.subscribe([topic])
        wait_until(poll, f"{group} reads {topic}")
    finally:
        consumer.close()
    return found[0]


def test_a_gateway_begins_without_the_source_and_takes_it_in_when_it_is_there(
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    gate: Gate,
) -> None:
    name, at = new_name("alone"), f"127.0.0.1:{ports.reserve(1)[0]}"
    moved, stays, group = f"{name}.moved", f"{name}.stays", f"{name}-group"
    for topic in (moved, stays):
        for cluster in (source, target):
            create_topic(cluster.bootstrap, topic)
    nodes = broker_of(source), broker_of(target)
    promote(link_file(tmp_path, name, at, source.bootstrap, target, nodes), moved, group)
    away = link_file(tmp_path, name, at, gate.address, target, nodes)
    program = Program(tmp_path, "gateway", str(away), name="gateway")
    try:
        wait_until(lambda: "listening on" in program.said, lambda: f"it listens: {program.said}")
        assert "without the source" in program.said
        assert seen(at) == {moved}, "what is not promoted is not shown by the mirror"
        produce(at, moved, [Record(None, b"one")], {"enable.idempotence": True})
        assert [each.value for each in consume(target.bootstrap, moved)] == [b"one"]
        assert read_as(at, group, moved) == b"one"
        gate.open()
        wait_until(lambda: stays in seen(at), lambda: f"the source is there: {program.said}")
        produce(at, stays, [Record(None, b"two")], {"enable.idempotence": True})
        assert [each.value for each in consume(source.bootstrap, stays)] == [b"two"]
        assert read_as(at, f"{name}-other", stays) == b"two"
        assert consume(target.bootstrap, stays) == []
    finally:
        program.stop()
        assert program.wait() == 0, program.said


def test_a_gateway_that_has_nothing_promoted_needs_the_source(
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    gate: Gate,
) -> None:
    name, at = new_name("needs"), f"127.0.0.1:{ports.reserve(1)[0]}"
    nodes = broker_of(source), broker_of(target)
    program = Program(
        tmp_path, "gateway", str(link_file(tmp_path, name, at, gate.address, target, nodes)),
        name="gateway",
    )  # fmt: skip
    assert program.wait() == 4, program.said
    assert "source: " in program.said
