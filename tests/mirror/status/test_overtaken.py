"""Another program went on with the group of a link: how it is told."""

from __future__ import annotations

from towpath.mirror.status.overtaken import ahead
from towpath.model.nouns import TopicName, TopicPartition

ONE, TWO, NEW = (TopicPartition(TopicName("orders"), n) for n in range(3))


def test_a_group_that_stands_further_is_told_with_what_is_copied_again() -> None:
    told = str(ahead("mover", {ONE: 10, TWO: 20, NEW: 5}, {ONE: 13, TWO: 21}))
    assert told.startswith("group mover stands at offset 13 of orders-0, and this link at 10:")
    assert "the 4 offsets between both (2 of 3 partitions) all the same" in told
    assert "`towpath link rm --release`" in told


def test_a_group_that_stands_at_the_link_or_before_it_is_not() -> None:
    assert ahead("mover", {ONE: 10, TWO: 20, NEW: 5}, {ONE: 10, TWO: 3}) is None
