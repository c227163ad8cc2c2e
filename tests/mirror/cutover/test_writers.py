"""Who still writes to the source, on a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.kafka import Record, create_topic, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers, ProducerState
from towpath.dev.broker import LocalCluster
from towpath.mirror.cutover.writers import SourceSnapshot, Writing, look_at_source, moved
from towpath.model.errors import ClusterError
from towpath.model.nouns import ProducerId, Side, TopicName, TopicPartition

TEN = [Record(None, b"%d" % number, timestamp=1_000_000_000_000) for number in range(10)]
TP = TopicPartition(TopicName("orders"), 3)


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


@pytest.mark.broker
def test_nobody_writes(admin: Admin, source: LocalCluster, topic: TopicName) -> None:
    produce(source.bootstrap, topic, TEN, {"enable.idempotence": True})
    first, last = look_at_source(admin, [topic]), look_at_source(admin, [topic])
    assert last.ends == {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 0}
    assert moved(admin, first, last) == ()


@pytest.mark.broker
def test_who_wrote_is_named_whatever_time_the_records_have(
    admin: Admin, source: LocalCluster, topic: TopicName
) -> None:
    """Others that wrote before are not blamed."""
    for idempotent in (True, False, True):
        first = look_at_source(admin, [topic])
        produce(source.bootstrap, topic, TEN, {"enable.idempotence": idempotent})
        [found] = moved(admin, first, look_at_source(admin, [topic]))
        start = found.before
        known = admin.producers.sequences([found.tp])[found.tp]
        newest = max(known)
        who = (
            f"producer {newest} (its last record is of 2001-09-09T01:46:40Z) wrote"
            if idempotent
            else "the producer has no id, as it is not idempotent"
        )
        grew = f"grew from {start} to {start + 10} since the first look"
        assert str(found) == f"{topic}-0: {grew}; {who}"


@pytest.mark.broker
def test_an_open_transaction_is_named(admin: Admin, source: LocalCluster, topic: TopicName) -> None:
    configs = {"bootstrap.servers": source.bootstrap, "transactional.id": topic}
    producer = Producer(configs)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=1)
    assert producer.flush(30) == 0
    seen = look_at_source(admin, [topic])
    [found] = moved(admin, seen, seen)
    assert str(found).startswith(f"{topic}-1: a transaction of producer ")
    assert str(found).endswith(" is open; its producer must commit or abort it")
    producer.abort_transaction(30)


class Fake:
    """A source that tells ends, and of producers nothing."""

    def __init__(self) -> None:
        self.offsets = self.producers = self

    def latest(self, _: object, *, committed: bool) -> Answers[TopicPartition, int]:
        assert committed
        return Answers({TP: 20}, {})

    def states(self, _: object) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        raise ClusterError("source: it does not know the question")


def test_a_source_that_does_not_describe_producers() -> None:
    [found] = moved(Fake(), SourceSnapshot({TP: 10}), SourceSnapshot({TP: 20}))  # type: ignore[arg-type]
    assert str(found) == (
        "orders-3: grew from 10 to 20 since the first look; it is not known who writes: source: it"
        " does not know the question"
    )


def some(count: int) -> tuple[ProducerState, ...]:
    return tuple(ProducerState(ProducerId(n), 5, -1, -1) for n in range(count))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            Writing(TP, 10, 20, some(1), copied=15),
            "grew from 10 to 20 since the first look; producer 0 wrote; its mirror topic lacks"
            " offsets 15 to 19",
        ),
        (
            Writing(TP, 10, 20, some(5), copied=20),
            "grew from 10 to 20 since the first look; producer 0, producer 1, producer 2 and 2 more"
            " wrote; its mirror topic has these, and will lack later ones",
        ),
        (
            Writing(TP, 20, 0, (), copied=20),
            "ended at 20 at the first look and ends at 0 now: it lost records, or the topic was"
            " made again",
        ),
        (
            Writing(TP, 20, -1, (), copied=20),
            "it no longer exists at the source since the first look",
        ),
    ],
)
def test_how_it_is_told(found: Writing, text: str) -> None:
    assert str(found) == f"orders-3: {text}"
