"""Which slice gets which partition. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.copying.deals import part, table_of
from towpath.mirror.run.deals import Demand, Table, spread
from towpath.model.nouns import ProducerId, SourceOffset, TopicId
from towpath.records.work import Beginning, as_data, from_data


def table(*hands: int, settled: bool = True) -> Table:
    parts = [[part(f"old-{n}", each) for each in range(count)] for n, count in enumerate(hands)]
    return table_of(parts, settled=settled)


@pytest.mark.parametrize("follows", [0, 6])
def test_only_a_round_that_follows_another_is_checked_for_what_was_dealt_meanwhile(
    follows: int,
) -> None:
    assert table_of([[part("a")]], follows=follows).checked is not bool(follows)


def test_partitions_are_spread_by_weight() -> None:
    weighed = [(9, part("a")), (5, part("b")), (4, part("c")), (0, part("d"))]
    parts = spread(weighed, 2)
    assert [[each.source.topic for each in one] for one in parts] == [["a", "d"], ["b", "c"]]
    assert spread([], 2) == []


def test_a_partition_weighs_what_is_to_be_copied_within_a_minute() -> None:
    tp, stopped, idle = (part("hot", n).source for n in range(3))
    demand = Demand({tp: 10.0, stopped: 10.0}, frozenset({stopped}))
    rest = demand.weight(idle, 0, 50, 5000)
    assert demand.weight(tp, 400, 50, 5000) == rest + 100 * (400 + 60 * 10)
    assert demand.weight(stopped, 400, 50, 5000) == rest, "no slice can copy it"
    assert demand.weight(idle, 1, 0, 0) > rest


def test_partitions_without_news_are_spread_by_number() -> None:
    lags = {part("a"): 3} | {part("b", number): 0 for number in range(9)}
    weighed = [(Demand().weight(each.source, lag, 1, 100), each) for each, lag in lags.items()]
    assert [len(one) for one in spread(weighed, 2)] == [5, 5]


def test_the_slice_with_the_fewest_partitions_gets_what_comes() -> None:
    there = table(3, 1)
    dealt = there.deal([(0, part("new", n)) for n in range(4)])
    assert {number: len(parts) for number, parts in dealt.items()} == {1: 3, 0: 1}
    assert [len(hand.held) for hand in there.hands] == [4, 4]
    assert [len(hand.later) for hand in there.hands] == [1, 3]


def test_what_is_withdrawn_belongs_to_no_slice_until_it_is_dealt_again() -> None:
    there = table(2, 1)
    tp = part("old-0", 1).source
    assert there.withdraw([tp, part("unknown").source]) == {0: [tp]}
    assert (tp in there.held, there.hands[0].withdrawn) == (False, {tp})
    assert there.withdraw([tp]) == {}
    assert list(there.deal([(0, part("old-0", 1))])) == [0]
    assert (tp in there.held, there.hands[0].withdrawn) == (True, set())


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
