"""Clients that know nothing but a gateway write and read as they do without one."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.program import Program
from towpath.cluster.admin import Admin
from towpath.dev import ports
from towpath.gateway.frames import SMALLEST
from towpath.gateway.producer_eras import FIRST_ID
from towpath.gateway.relayed_nodes import SHIFT
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import load

pytestmark = pytest.mark.broker
COUNT = 200


@dataclass(frozen=True)
class Served:
    """A gateway that runs."""

    file: Path
    program: Program
    bootstrap: str
    port: int


@pytest.fixture
def served(
    source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str], tmp_path: Path
) -> Iterator[Served]:
    port, of_broker = ports.reserve(2)
    name, at = new_name("relayed"), f"127.0.0.1:{port}"
    file = tmp_path / "link.yaml"
    broker = next(iter(AdminClient({"bootstrap.servers": source.bootstrap}).list_topics().brokers))
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\ntopics: {{include: ['{name}.*']}}\n"
        f"gateway: {{listen: '{at}', nodes: {{{broker}: '127.0.0.1:{of_broker}'}}}}\n"
    )
    program = Program(tmp_path, "gateway", str(file), name="gateway")
    try:
        wait_until(
            lambda: "listening on" in program.said, lambda: f"a gateway listens: {program.said}", 60
        )
        yield Served(file, program, at, of_broker)
    finally:
        program.stop()
        assert program.wait() == 0, program.said


def send(bootstrap: str, topic: str, first: int, count: int, **more: str | int | bool) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **more})
    failed: list[object] = []
    transactional = "transactional.id" in more
    if transactional:
        producer.init_transactions(30)
        producer.begin_transaction()
    for number in range(first, first + count):
        value = b"%d" % number
        producer.produce(
            topic, value, b"k", on_delivery=lambda e, _m: failed.append(e) if e else None
        )
    if transactional:
        producer.commit_transaction(30)
    assert producer.flush(30) == 0
    assert failed == []


def read(bootstrap: str, group: str, topic: str, count: int) -> list[Message]:
    """Read as a member of a group, which commits at its end."""
    found: list[Message] = []
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])

    def all_are_there() -> bool:
        found.extend(each for each in consumer.consume(count, 0.5) if each.error() is None)
        return len(found) >= count

    try:
        wait_until(all_are_there, f"{count} records are read")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


def test_clients_of_a_gateway_write_read_and_commit(
    served: Served, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    topic, group = f"{served.file.stem}-{new_name('relay')}", new_name("group")
    create_topic(source.bootstrap, topic, 1)
    seen = AdminClient({"bootstrap.servers": served.bootstrap}).list_topics(topic, 30)
    theirs = AdminClient({"bootstrap.servers": target.bootstrap}).list_topics(timeout=30)
    assert seen.cluster_id == theirs.cluster_id, "one cluster id from the first day"
    (broker,) = seen.brokers.values()
    assert broker.id >= SHIFT
    assert f"{broker.host}:{broker.port}" == f"127.0.0.1:{served.port}"
    assert seen.topics[topic].partitions[0].leader == broker.id
    assert seen.topics[topic].partitions[0].replicas == [broker.id]

    produce(source.bootstrap, topic, [Record(b"k", b"direct")])
    send(served.bootstrap, topic, 0, COUNT, **{"enable.idempotence": True})
    send(served.bootstrap, topic, COUNT, COUNT, acks=0)
    send(served.bootstrap, topic, 2 * COUNT, COUNT, **{"transactional.id": group})
    found = read(served.bootstrap, group, topic, 3 * COUNT + 1)
    assert [each.value() for each in found] == [b"direct"] + [b"%d" % n for n in range(3 * COUNT)]
    assert {each.leader_epoch() for each in found} == {None}, "no epoch of the source is told"

    config = load(served.file)
    with Admin(config.source, "source") as admin:
        tp = TopicPartition(TopicName(topic), 0)
        ids = admin.producers.sequences([tp])[tp]
    assert [each >= FIRST_ID for each in sorted(ids)] == [False, True], ids


def test_a_client_goes_on_where_it_committed(
    served: Served, source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    topic, group = new_name("relay"), new_name("group")
    create_topic(source.bootstrap, topic, 1)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(10)])
    read(source.bootstrap, group, topic, 10)  # by the source itself, with its epochs
    produce(source.bootstrap, topic, [Record(b"k", b"10")])
    assert [each.value() for each in read(served.bootstrap, group, topic, 1)] == [b"10"]
    produce(source.bootstrap, topic, [Record(b"k", b"11")])
    assert [each.value() for each in read(source.bootstrap, group, topic, 1)] == [b"11"]


def test_a_plan_tells_who_else_may_write_topics_that_shall_move(
    served: Served, source: SharedCluster, here: Here
) -> None:
    create_topic(source.bootstrap, f"{load(served.file).link}.planned", 1)
    done = here("plan", str(served.file), "-o", "json")
    notes = [each["text"] for each in done.json["notes"] if each["about"] == "gateway"]
    said = "the target has no authorizer: whoever reaches it may write the mirror topics"
    assert [each.startswith(said) for each in notes] == [True], done.said


def test_what_is_no_frame_costs_its_own_connection(
    served: Served, source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    topic = new_name("relay")
    create_topic(source.bootstrap, topic, 1)
    send(served.bootstrap, topic, 0, 1)
    alert = b"\x15\x03\x03\x00\x02\x02\x28"
    for start in (alert, b"GET / HTTP/1.1\r\n\r\n", framed(bytes(SMALLEST))):
        with socket.create_connection(("127.0.0.1", served.port), 10) as strange:
            strange.sendall(start)
            assert strange.recv(1) == b"", "it is closed"
    said = "a frame of 352518912 bytes"
    wait_until(
        lambda: said in served.program.said, lambda: f"the log says why: {served.program.said}"
    )
    send(served.bootstrap, topic, 1, 1)
    assert len(consume(source.bootstrap, topic, [0])) == 2


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body
