"""What a move of groups leaves: topics of Streams applications, and groups that went. Pure."""

from __future__ import annotations

from towpath.groups.left_behind import gone_at_source, streams_topics, with_left_out
from towpath.groups.model import GroupReport
from towpath.ledger.entries import SeenGroup
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode


def topics(*names: str) -> list[TopicName]:
    return [TopicName(name) for name in names]


def report(name: str, kind: GroupKind = GroupKind.CONSUMER) -> GroupReport:
    return GroupReport(
        group=ClientGroup(name, kind),
        mirror_group=name,
        source_state="Empty",
        target_state="",
        at=1,
        positions=(),
    )


def test_topics_of_an_application_are_found_by_its_group() -> None:
    inner = "shop-sum-changelog", "shop-KSTREAM-KEY-SELECT-0000000001-repartition"
    others = "shop-orders", "shopping-sum-changelog", "shop-changelog", "orders", "sum-changelog"
    assert streams_topics(["shop"], topics(*inner, *others)) == {"shop": tuple(sorted(inner))}


def test_a_longer_name_is_meant_where_two_fit() -> None:
    found = streams_topics(["a", "a-b"], topics("a-b-sum-changelog", "a-sum-changelog"))
    assert found == {"a-b": ("a-b-sum-changelog",), "a": ("a-sum-changelog",)}


def test_an_application_of_either_protocol_whose_topics_are_left_out_is_named() -> None:
    given = [report("old"), report("new", GroupKind.STREAMS), report("plain")]
    left = topics("old-sum-changelog", "new-sum-changelog", "new-by-repartition")
    old, new, plain = with_left_out(given, left)
    assert plain.remarks == ()
    for each, names in ((old, "old-sum-changelog"), (new, "new-by-repartition")):
        (why,) = each.remarks
        assert why.code is ReasonCode.STREAMS_TOPICS_LEFT_OUT
        assert f"leaves out {names}" in str(why)
        assert "restored from nothing" in str(why)


def test_a_group_that_went_is_named_with_what_stays() -> None:
    entry = SeenGroup(
        link=LinkName("l"),
        group="g",
        of=GroupKind.CONSUMER,
        mirror_group="eu-g",
        state="Empty",
        at=1,
        ids={},
        topics={},
    )
    there = {TopicPartition(TopicName("orders"), at): Commit(5 + at) for at in (1, 0)}
    told = gone_at_source(entry, there, 7)
    (why,) = told.remarks
    assert (told.group, told.at, why.code) == (entry.client, 7, ReasonCode.GROUP_GONE_AT_SOURCE)
    assert "group eu-g stays on the target with its offsets (orders-0: 5, orders-1: 6)" in str(why)
