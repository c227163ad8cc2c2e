"""Where a run until caught up ends. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.mirror.run.ends import Ends
from towpath.model.nouns import ProducerId, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.records.work import UNKNOWN, Assignment

TP = TopicPartition(TopicName("orders"), 0)
WORK = Assignment(
    source=TP,
    target=TP,
    source_id=TopicId("id"),
    target_id=TopicId("copy"),
    producer_id=ProducerId(1),
    filler_id=ProducerId(2),
    start=SourceOffset(0),
)


def test_a_later_round_ends_where_the_first_one_would_have() -> None:
    ends = Ends()
    assert [ends.of(WORK, {TP: end}) for end in (10, 25, 40)] == [10, 10, 10]


def test_what_no_leader_told_counts_as_soon_as_one_does() -> None:
    ends = Ends()
    assert [ends.of(WORK, seen) for seen in ({}, {TP: 10}, {}, {TP: 25})] == [UNKNOWN, 10, 10, 10]


def test_a_log_that_was_cut_is_done_where_it_ends_now() -> None:
    """Else the run would wait for offsets that may never come."""
    ends = Ends()
    assert [ends.of(WORK, {TP: end}) for end in (10, 7, 25)] == [10, 7, 10]


def test_a_topic_that_was_made_again_has_another_end() -> None:
    ends = Ends()
    assert ends.of(WORK, {TP: 10}) == 10
    assert ends.of(replace(WORK, source_id=TopicId("other")), {TP: 25}) == 25
