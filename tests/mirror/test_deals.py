"""Which slice gets which partition. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.config import ClusterConfig
from towpath.mirror.deals import Table, spread
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.work import Assignment, Beginning, Slice, as_data, from_data

CLUSTER = ClusterConfig(bootstrap=("host:1",))


def part(topic: str, number: int = 0) -> Assignment:
    tp = TopicPartition(TopicName(topic), number)
    return Assignment(
        source=tp,
        target=replace(tp, topic=TopicName(f"eu.{topic}")),
        source_id=TopicId("source"),
        target_id=TopicId("target"),
        producer_id=ProducerId(1 << 40),
        filler_id=ProducerId(1 << 41),
        start=SourceOffset(0),
    )


def table(*hands: int, settled: bool = True) -> Table:
    slices = [
        Slice(
            link=LinkName("link"),
            source=CLUSTER,
            target=CLUSTER,
            assignments=tuple(part(f"old-{n}", each) for each in range(count)),
            run_id="run",
            round=7,
            seconds=60.0,
            number=n,
            settled=settled,
        )
        for n, count in enumerate(hands)
    ]
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


def test_a_partition_that_a_slice_has_stays_with_it() -> None:
    there = table(3, 0)
    changed = replace(part("old-0", 1), max_batch=5)
    assert there.deal([(0, changed)]) == {0: [changed]}
    assert there.hands[0].later == {changed.source: changed}
    assert there.held[changed.source].max_batch == 5


def test_only_where_it_begins_and_ends_may_differ_on_the_same_terms() -> None:
    plain = part("orders")
    moved = replace(
        plain,
        start=SourceOffset(5),
        end=SourceOffset(9),
        begin=Beginning(epoch=1),
        from_earliest=True,
    )
    assert moved.terms == plain.terms
    for other in (replace(plain, max_batch=5), replace(plain, source_id=TopicId("another"))):
        assert other.terms != plain.terms


@pytest.mark.parametrize(
    ("hands", "slots", "crowded"), [((16,), 2, True), ((15,), 2, False), ((50, 50), 2, False)]
)
def test_more_slices_are_worth_a_new_round_where_many_partitions_came(
    hands: tuple[int, ...], slots: int, *, crowded: bool
) -> None:
    assert table(*hands).is_crowded(slots) is crowded


def test_what_comes_first_has_most_to_copy() -> None:
    there = table(0)
    dealt = there.deal([(1, part("small")), (100, part("large"))])
    assert [each.source.topic for each in dealt[0]] == ["large", "small"]


def test_assignments_travel_as_json() -> None:
    plain = part("orders", 3)
    rich = replace(
        plain, end=SourceOffset(12), compacted=True, begin=Beginning(epoch=4), fill=5,
        earlier=frozenset({ProducerId(1 << 42)}),
    )  # fmt: skip
    assert from_data(as_data([plain, rich])) == (plain, rich)


def test_what_is_dealt_behind_a_round_that_failed_is_not_settled() -> None:
    assert table(1, 1).settled
    assert not table(1, 1, settled=False).settled
