"""Who writes under a private producer id, by the ledger of one cluster."""

from __future__ import annotations

from towpath.ledger.entries import LinkIdentity, Opened
from towpath.ledger.producers import is_private, of_generation, producer_id
from towpath.ledger.twins import Direction, PrivateWriters
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

HERE, THERE, THIRD = (ClusterId(name) for name in ("here", "there", "third"))
ORDERS, COPY = (TopicPartition(TopicName(name), 0) for name in ("orders", "copy"))
OWN = Direction(HERE, ORDERS, COPY)
"""The link that asks copies orders of this cluster to the topic copy of another one."""


def opened(link: str, source: TopicPartition, mirror: TopicPartition, first: int) -> Opened:
    return Opened(
        link=LinkName(link), topic=source.topic, partition=source.partition,
        source_topic_id=TopicId("s"), target_topic=mirror.topic, target_topic_id=TopicId("t"),
        producer_id=ProducerId(first), mode=Mode.MAPPED, reasons=(), source_start=SourceOffset(0),
        target_start=TargetOffset(0), run_id="run", at=1,
    )  # fmt: skip


def writers(*entries: LinkIdentity | Opened) -> PrivateWriters:
    made = PrivateWriters()
    for entry in entries:
        made.take(entry)
    return made


def is_twin(known: PrivateWriters, producer: int) -> bool | None:
    found = known.direction(ProducerId(producer))
    return None if found is None else found == OWN.back(THERE)


def test_each_purpose_and_generation_of_the_way_back_is_the_twins() -> None:
    first = 1 << 50
    known = writers(
        LinkIdentity(LinkName("back"), THERE, HERE), opened("back", COPY, ORDERS, first)
    )
    ids = LinkName("back"), THERE, TopicId("s"), TopicId("t"), COPY
    derived = [producer_id(*ids, purpose=each) for each in ("data", "filler", "marker")]
    for each in (ProducerId(first), *derived):
        assert is_twin(known, each)
        assert is_twin(known, of_generation(each, 255))
        assert is_twin(known, each + 256) is None
    assert known.by_direction() == {OWN.back(THERE): {ProducerId(first), *derived}}


def test_what_comes_from_elsewhere_is_no_twins() -> None:
    known = writers(
        LinkIdentity(LinkName("third"), THIRD, HERE),
        opened("third", COPY, ORDERS, 1 << 50),
        LinkIdentity(LinkName("back"), THERE, HERE),
        opened("back", TopicPartition(COPY.topic, 1), TopicPartition(ORDERS.topic, 1), 1 << 51),
        opened("back", ORDERS, ORDERS, 1 << 52),
    )
    assert [is_twin(known, 1 << power) for power in (50, 51, 52)] == [False] * 3
    assert is_twin(known, 1 << 53) is None


def test_a_claim_counts_once_its_cluster_is_known() -> None:
    known = writers(opened("back", COPY, ORDERS, 1 << 50))
    assert is_twin(known, 1 << 50) is None
    known.take(LinkIdentity(LinkName("back"), THERE, HERE, level=7))
    assert is_twin(known, 1 << 50)
    ids = LinkName("back"), THERE, TopicId("s"), TopicId("t"), COPY
    assert is_twin(known, producer_id(*ids, purpose="marker"))


def test_brokers_give_out_no_private_ids() -> None:
    given = [-1, 0, 1_000_000, (1 << 40) - 1]
    assert not any(map(is_private, given))
    ids = LinkName("l"), HERE, TopicId("s"), TopicId("t"), ORDERS
    assert is_private(of_generation(producer_id(*ids), 255))
