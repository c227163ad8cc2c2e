"""Which slice gets which partition. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.config import ClusterConfig
from towpath.mirror.deals import Table, spread
from towpath.model.nouns import LinkName, ProducerId, TopicId, TopicName, TopicPartition
from towpath.records.work import Assignment, Beginning, Slice, as_data, from_data

CLUSTER = ClusterConfig(bootstrap=("host:1",))


def part(topic: str, number: int = 0) -> Assignment:
    tp = TopicPartition(TopicName(topic), number)
    ids = TopicId("source"), TopicId("target"), ProducerId(1 << 40), ProducerId(1 << 41)
    return Assignment(tp, replace(tp, topic=TopicName(f"eu.{topic}")), *ids, 0)


def table(*hands: int) -> Table:
    slices = [
        Slice(
            LinkName("link"), CLUSTER, CLUSTER,
            tuple(part(f"old-{n}", each) for each in range(count)), "run", 7, 60.0, number=n,
        )
        for n, count in enumerate(hands)
    ]  # fmt: skip
    return Table.of(slices, 7, settled=True)


def test_partitions_are_spread_by_weight() -> None:
    weighed = [(9, part("a")), (5, part("b")), (4, part("c")), (0, part("d"))]
    parts = spread(weighed, 2)
    assert [[each.source.topic for each in one] for one in parts] == [["a", "d"], ["b", "c"]]
    assert spread([], 2) == []


def test_the_slice_with_the_fewest_partitions_gets_what_comes() -> None:
    there = table(3, 1)
    dealt = there.deal([(0, part("new", n)) for n in range(4)])
    assert {number: len(parts) for number, parts in dealt.items()} == {1: 3, 0: 1}
    assert [len(hand.held) for hand in there.hands] == [4, 4]
    assert [len(hand.later) for hand in there.hands] == [1, 3]


def test_what_comes_first_has_most_to_copy() -> None:
    there = table(0)
    dealt = there.deal([(1, part("small")), (100, part("large"))])
    assert [each.source.topic for each in dealt[0]] == ["large", "small"]


def test_assignments_travel_as_json() -> None:
    plain = part("orders", 3)
    rich = replace(
        plain, end=12, compacted=True, begin=Beginning(epoch=4), fill=5,
        earlier=frozenset({ProducerId(1 << 42)}),
    )  # fmt: skip
    assert from_data(as_data([plain, rich])) == (plain, rich)
