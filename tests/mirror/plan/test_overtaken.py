"""A plan tells that another program went on with the group of a link."""

from __future__ import annotations

from towpath.mirror.plan.overtaken import notes_of
from towpath.model.nouns import TopicName, TopicPartition

ONE, TWO, NEW = (TopicPartition(TopicName("orders"), n) for n in range(3))


def test_a_group_that_stands_further_is_told_with_what_would_be_copied_again() -> None:
    (note,) = notes_of("mover", {ONE: 10, TWO: 20, NEW: 5}, {ONE: 13, TWO: 21})
    assert note.about == "records.group"
    assert note.text.startswith("group mover stands at offset 13 of orders-0, and this link at 10:")
    assert "the 4 offsets between both (2 of 3 partitions) would be copied once more" in note.text
    assert "`towpath link rm --release`" in note.text


def test_a_group_that_stands_at_the_link_or_before_it_is_not() -> None:
    assert not [*notes_of("mover", {ONE: 10, TWO: 20, NEW: 5}, {ONE: 10, TWO: 3})]
