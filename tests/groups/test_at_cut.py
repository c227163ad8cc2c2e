"""Where groups go on once records have gone through a query, and where they get no place. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.groups.at_cut import CutTopic, KnownGroup, at_cut, remembered, unread_at_source
from towpath.groups.decide import TranslatedGroup, decide
from towpath.groups.group_snapshots import group_entry
from towpath.groups.model import GroupPosition, GroupReport, PositionOutcome
from towpath.groups.observe_groups import SourceGroup, TargetView
from towpath.groups.unread import by_client, unread_text
from towpath.ledger.entries import SeenGroup
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import LinkName, TargetOffset, TopicId, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import GroupsConfig

ORDERS, COPY = TopicName("orders"), TopicName("orders.clean")
GROUP = ClientGroup("billing")
IDS = {ORDERS: TopicId("one")}


def source(*offsets: int) -> SourceGroup:
    commits = {TopicPartition(ORDERS, n): Commit(at) for n, at in enumerate(offsets)}
    return SourceGroup(group=GROUP, state="Empty", has_members=False, at=1, commits=commits)


def ends(*offsets: int, was_cut: bool = False, others: str = "") -> CutTopic:
    there = {n: TargetOffset(at) for n, at in enumerate(offsets)}
    return CutTopic(mirror=COPY, ends=there, was_cut=was_cut, others=others)


def committed(*offsets: int) -> dict[TopicPartition, Commit]:
    return {TopicPartition(COPY, n): Commit(at) for n, at in enumerate(offsets)}


def placed(
    group: SourceGroup, mirror: CutTopic | None, known: KnownGroup | None = None
) -> list[GroupPosition]:
    made = at_cut(
        TranslatedGroup(group=group, mirror_group="billing"),
        {ORDERS: mirror},
        known or KnownGroup(),
    )
    there = known.there if known is not None else {}
    target = TargetView(
        commits={GROUP: there},
        starts={TopicPartition(COPY, n): 0 for n in (mirror.ends if mirror else ())},
        ends={TopicPartition(COPY, n): at for n, at in (mirror.ends if mirror else {}).items()},
    )
    return [*decide(GroupsConfig(), made.group, made.places, target)]


def written(positions: list[GroupPosition]) -> dict[int, int]:
    """Where it is written, by mirror partition."""
    return {
        each.mirror.partition: each.answer.offset
        for each in positions
        if each.due and each.mirror is not None and each.answer is not None
    }


def whys(positions: list[GroupPosition]) -> set[ReasonCode]:
    return {each.reason.code for each in positions if each.reason is not None}


def after(group: SourceGroup, positions: list[GroupPosition], mirror: CutTopic) -> SeenGroup:
    """Return what the ledger keeps once a group is placed."""
    done = tuple(
        replace(each, outcome=PositionOutcome.CONFIRMED) if each.due else each for each in positions
    )
    report = GroupReport(
        group=GROUP, mirror_group="billing", source_state="Empty", target_state="", at=2,
        positions=done,
    )  # fmt: skip
    whole = remembered(report, group.commits, {ORDERS: mirror})
    return group_entry(LinkName("l"), whole, IDS, None)


@pytest.mark.parametrize("mirror", [(7,), (7, 0, 3), (7, 5)])
def test_a_group_goes_on_at_the_end_of_each_mirror_partition(mirror: tuple[int, ...]) -> None:
    found = placed(source(4, 6), ends(*mirror))
    assert written(found) == dict(enumerate(mirror))
    assert [each.source for each in found] == [4, 6, -1][: len(mirror)]
    assert whys(found) == set()


def test_what_a_group_has_not_read_keeps_it_from_going_on() -> None:
    known = KnownGroup(unread={ORDERS: "it has not read 2 records"})
    found = placed(source(4), ends(7), known)
    assert written(found) == {}
    [reason] = {each.reason for each in found}
    assert str(reason) == (
        "it has not read 2 records; it goes on at the end of the mirror topic once it has read"
        " everything"
    )


def test_nothing_is_written_over_an_offset_that_is_there() -> None:
    for there in (3, 9):
        found = placed(source(4), ends(7, 7), KnownGroup(there=committed(there)))
        assert (written(found), whys(found)) == ({}, {ReasonCode.GROUP_STANDS})
    there_already = placed(source(4), ends(7), KnownGroup(there=committed(7)))
    assert [each.outcome for each in there_already] == [PositionOutcome.UNCHANGED]


def test_topics_that_are_not_there_or_not_of_the_link_have_no_place() -> None:
    assert whys(placed(source(4), None)) == {ReasonCode.NOT_MIRRORED_YET}
    other = replace(source(4), commits={TopicPartition(TopicName("other"), 0): Commit(1)})
    assert whys(placed(other, ends(7))) == {ReasonCode.TOPIC_NOT_MIRRORED}


def test_no_place_is_exact_among_records_of_others() -> None:
    mixed = ends(7, others="that clients wrote")
    found = placed(source(4), mixed)
    assert whys(found) == {ReasonCode.GROUP_AMONG_OTHERS}
    assert written(placed(source(4), mixed, KnownGroup(may_skip=True))) == {0: 7}


def test_a_cutover_that_was_killed_moves_its_own_offsets_on() -> None:
    """What it wrote is there, in the ledger too, and the group has read on at the source."""
    first = placed(source(4, 6), ends(7))
    last = after(source(4, 6), first, ends(7))
    known = KnownGroup(last=last, ids=IDS, there=committed(7))
    assert written(placed(source(5, 6), ends(9), known)) == {0: 9}
    moved = replace(known, there=committed(8))
    assert whys(placed(source(5, 6), ends(9), moved)) == {ReasonCode.GROUP_STANDS}


def test_behind_a_cutover_a_group_goes_on_where_its_clients_read() -> None:
    group, mirror = source(4, 6), ends(7)
    last = after(group, placed(group, mirror), mirror)
    over = ends(20, 4, was_cut=True, others="that clients wrote")
    known = KnownGroup(last=last, ids=IDS, there=committed(12))
    assert known.went_over(ORDERS, group.commits)
    found = placed(group, over, known)
    assert written(found) == {1: 0}, "a partition that came later is the clients' own"
    assert whys(found) == {ReasonCode.GROUP_GOES_ON}
    expired = placed(group, over, replace(known, there={}))
    assert written(expired) == {0: 7, 1: 0}
    for moved in (source(4, 7), source(4, 6, 1), source(4)):
        assert not known.went_over(ORDERS, moved.commits)
        assert whys(placed(moved, over, known)) == {ReasonCode.GROUP_AMONG_OTHERS}
    made_again = replace(known, ids={ORDERS: TopicId("two")})
    assert not made_again.went_over(ORDERS, group.commits)


@given(
    st.dictionaries(st.integers(0, 3), st.integers(0, 9)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=4),
)
def test_what_is_unread_is_everything_from_its_offset_on(
    offsets: Mapping[int, int], logs: list[tuple[int, int]]
) -> None:
    commits = {TopicPartition(ORDERS, n): Commit(at) for n, at in offsets.items()}
    group = replace(source(), commits=commits)
    places = {
        TopicPartition(ORDERS, n): (start, start + size) for n, (start, size) in enumerate(logs)
    }

    def records(_tp: TopicPartition, first: int, end: int) -> tuple[int, int, bool]:
        return first, end - first, True

    found = [*unread_at_source([group], places, records)]
    expected = {
        tp: end - max(start, commits[tp].offset if tp in commits else 0)
        for tp, (start, end) in places.items()
    }
    kept = {tp: left for tp, left in expected.items() if left > 0} if commits else {}
    assert {each.tp: each.records for each in found} == kept
    assert bool(by_client(found)) == bool(kept)


def test_markers_alone_are_nothing_to_read() -> None:
    place = {TopicPartition(ORDERS, 0): (0, 5)}
    assert [*unread_at_source([source(4)], place, lambda _, first, __: (first, 0, True))] == []
    [found] = unread_at_source([source(1)], place, lambda _, first, __: (first, 3, True))
    assert unread_text([found]) == (
        "it has not read 3 records at the source (orders-0: offsets 1 to 4)"
    )
