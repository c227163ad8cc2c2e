"""A program whose gateway was away for longer than its session begins its transaction anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from tests.support.clients.applications import set_group_config
from tests.support.clients.gateways import another, bootstrap_of, moved, served
from tests.support.clients.moving import PARTITIONS, QUIET
from tests.support.clients.moving_transactions import Transactions, begin_anew, require_processed
from tests.support.clients.quick_links import light_run, quick_link
from tests.support.clusters.clusters import Clusters
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.soak]
SESSION, EACH = "6000", 20


@pytest.fixture
def link(clusters: Clusters, tmp_path: Path, new_name: Callable[[str], str]) -> Iterator[Link]:
    made = quick_link(clusters, tmp_path, new_name("lost"))
    yield made
    for program in made.programs:
        program.close()


@pytest.mark.timeout(300)
def test_a_program_whose_gateway_was_away_for_longer_than_its_session_begins_anew(
    link: Link, here: Here
) -> None:
    """Its coordinator dropped it meanwhile, so its group moved; as after any broker's outage."""
    second = another(link)
    inputs, output = (
        create_topic(link.source.bootstrap, f"{link.name}.{name}", PARTITIONS)
        for name in ("in", "out")
    )
    set_group_config(link.source.bootstrap, link.name, "consumer.session.timeout.ms", SESSION)
    light_run(link)
    served(link)
    lost = served(second)
    traffic = Transactions(bootstrap_of(second))
    producer = traffic.producer(f"{link.name}-app")
    consumer = traffic.consumer(link.name, inputs, **{"group.protocol": "consumer"})
    try:
        write(link, inputs)
        traffic.processed(producer, consumer, consumed(consumer), output)
        write(link, inputs)
        found = consumed(consumer)
        wait_until(lambda: end(link.target, output) > EACH // PARTITIONS, "it is copied", 60)
        lost.kill9()
        moved(here, link, "promote", "promoted", "--topics", f"{inputs},{output}")
        served(second)
        with pytest.raises(KafkaException) as told:
            traffic.processed(producer, consumer, found, output)
        why = told.value.args[0]
        assert (why.code(), why.txn_requires_abort()) == (KafkaError.UNKNOWN_MEMBER_ID, True)
        producer.abort_transaction(60)
        begin_anew(consumer)
        traffic.processed(producer, consumer, consumed(consumer), output)
    finally:
        consumer.close()
    assert traffic.failures == []
    require_processed(link.target.bootstrap, inputs, output)


def write(link: Link, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_of(link), **QUIET})
    for number in range(EACH):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def consumed(consumer: Consumer) -> list[Message]:
    found = list[Message]()

    def are_read() -> bool:
        found.extend(consumer.consume(EACH, 0.2))
        assert [each.error() for each in found if each.error() is not None] == []
        return len(found) >= EACH

    wait_until(are_read, "all is read", 60)
    return found
