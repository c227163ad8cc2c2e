"""What the ledger keeps of groups. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from towpath.groups.group_snapshots import group_entry, is_news
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.ledger.entries import SeenGroup, SeenPosition, decode, encode
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.groups import ClientGroup
from towpath.model.nouns import (
    LinkName,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

LINK, GROUP = LinkName("l"), ClientGroup("g")
TOPICS = [TopicName("a"), TopicName("b")]
Ids = Mapping[TopicName, TopicId]
IDS: Ids = {topic: TopicId(f"{topic}-1") for topic in TOPICS}
TPS = [TopicPartition(topic, number) for topic in TOPICS for number in range(3)]
COMMITS = st.dictionaries(st.sampled_from(TPS), st.integers(0, 99))


def report(
    commits: Mapping[TopicPartition, int],
    at: int = 1,
    outcome: PositionOutcome = PositionOutcome.CONFIRMED,
) -> GroupReport:
    return GroupReport(
        group=GROUP,
        mirror_group="g",
        source_state="Empty",
        target_state="",
        at=at,
        positions=tuple(
            GroupPosition(
                group=GROUP,
                mirror_group="g",
                tp=tp,
                mirror=tp,
                source=SourceOffset(offset),
                metadata="m",
                answer=TranslatedOffset(TargetOffset(offset + 100), Exactness.EXACT),
                outcome=outcome,
            )
            for tp, offset in commits.items()
        ),
    )


def offsets(entry: SeenGroup) -> dict[TopicPartition, int]:
    return {tp: each.source for tp, each in entry.positions.items()}


@given(first=COMMITS, then=COMMITS)
def test_what_the_source_no_longer_has_stays(
    first: dict[TopicPartition, int], then: dict[TopicPartition, int]
) -> None:
    before = group_entry(LINK, report(first), IDS, None)
    after = group_entry(LINK, report(then, at=2), IDS, before)
    assert offsets(before) == first
    assert offsets(after) == first | then
    assert decode(*encode(after)) == after
    emptied = group_entry(LINK, report({}, at=3), {}, after)
    assert offsets(emptied) == first | then
    assert not is_news(emptied, after)


@given(first=COMMITS, then=COMMITS)
def test_offsets_of_a_topic_that_was_made_again_go(
    first: dict[TopicPartition, int], then: dict[TopicPartition, int]
) -> None:
    again = {**IDS, TOPICS[0]: TopicId("a-2")}
    before = group_entry(LINK, report(first), IDS, None)
    after = group_entry(LINK, report(then, at=2), again, before)
    kept = {tp: offset for tp, offset in first.items() if tp.topic != TOPICS[0]}
    assert offsets(after) == kept | then


def test_only_what_was_read_back_counts_as_ours() -> None:
    (tp, *_) = TPS
    written = group_entry(LINK, report({tp: 7}), IDS, None)
    assert written.positions[tp] == SeenPosition(
        0, SourceOffset(7), SourceOffset(7), TargetOffset(107), "CONFIRMED", "m"
    )
    there = group_entry(LINK, report({tp: 7}, 2, PositionOutcome.UNCHANGED), IDS, written)
    assert not is_news(there, written)
    lost = group_entry(LINK, report({tp: 9}, 3, PositionOutcome.UNKNOWN), IDS, written)
    assert lost.positions[tp] == SeenPosition(
        0, SourceOffset(9), SourceOffset(7), TargetOffset(107), "UNKNOWN", "m"
    )
    assert is_news(lost, written)
    assert is_news(replace(written, state="Stable"), written)


def test_the_mark_of_a_share_group_holds_for_all_its_positions() -> None:
    one, both = {TPS[0]: 7}, {TPS[0]: 7, TPS[1]: 8}

    def entry(commits: Mapping[TopicPartition, int], mark: str, last: SeenGroup | None) -> str:
        return group_entry(LINK, replace(report(commits), mark=mark), IDS, last).mark

    first = group_entry(LINK, replace(report(both), mark="3-a"), IDS, None)
    assert first.mark == "3-a"
    assert decode(*encode(first)) == first
    assert entry(both, "5-b", first) == "5-b"
    assert entry(both, "", first) == "3-a", "what nobody told changed nothing"
    assert entry(one, "3-a", first) == "3-a"
    assert entry(one, "5-b", first) == "", "the other position is from before"
    assert is_news(replace(first, mark="5-b"), first)
