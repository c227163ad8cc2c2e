"""Which groups are still read at the source, and how long members are waited for. Pure."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

from towpath.groups.observe_groups import SourceGroup, SourceView
from towpath.mirror.cutover.readers import (
    Moved,
    ReadingGroup,
    readers_to_stop,
    still_reading,
    wait_for_members,
)
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicName, TopicPartition

ORDERS, OTHER = TopicName("orders"), TopicName("other")
TP = TopicPartition(ORDERS, 0)
GROUP = ClientGroup("billing")
MEMBERS = ReadingGroup(GROUP, "Stable")
MOVED = ReadingGroup(GROUP, "", (Moved(TP, 5, 6),))
AT_REST = SourceGroup(group=GROUP, state="Empty", has_members=False, at=0, commits={TP: Commit(5)})
LIVE = replace(AT_REST, state="Stable", has_members=True)


def view(*groups: SourceGroup) -> SourceView:
    return SourceView(groups={each.group.name: each for each in groups})


def at(commits: Mapping[TopicPartition, int]) -> SourceGroup:
    return replace(AT_REST, commits={tp: Commit(offset) for tp, offset in commits.items()})


def reading(first: SourceView, last: SourceView) -> tuple[ReadingGroup, ...]:
    return still_reading(first, last, {ORDERS})


def test_a_group_without_members_that_stands_still_is_at_rest() -> None:
    assert reading(view(AT_REST), view(AT_REST)) == ()
    assert reading(view(AT_REST), view()) == (), "it was deleted"


def test_members_and_commits_tell_of_clients() -> None:
    assert reading(view(AT_REST), view(LIVE)) == (MEMBERS,)
    assert reading(view(at({TP: 5})), view(at({TP: 6}))) == (MOVED,)
    assert reading(view(at({TP: 6})), view(at({TP: 5}))) != (), "it was set back"
    [fresh] = reading(view(), view(AT_REST))
    assert fresh.moved == (Moved(TP, -1, 5),)


def test_groups_of_other_topics_do_not_count() -> None:
    elsewhere = TopicPartition(OTHER, 0)
    live = replace(LIVE, commits={elsewhere: Commit(5)})
    assert reading(view(live), view(live)) == ()
    assert reading(view(at({TP: 5, elsewhere: 1})), view(at({TP: 5, elsewhere: 2}))) == ()


def test_each_is_named_with_what_to_do() -> None:
    assert str(MEMBERS).startswith(
        "group billing: it has members at the source (Stable); stop them"
    )
    assert str(MOVED) == (
        "group billing: it moved from 5 to 6 in orders-0 at the source since the first look, so a"
        " client still reads there; stop it"
    )
    assert readers_to_stop([MEMBERS, MOVED]) == [
        "2 groups are still read at the source (billing: Stable, billing: it commits): stop the"
        " clients"
    ]
    assert readers_to_stop([]) == []


def test_members_are_waited_for_and_movement_is_not() -> None:
    seen = [(MEMBERS,), (MEMBERS,), ()]
    assert wait_for_members(lambda: seen.pop(0), threading.Event()) == ()
    assert wait_for_members(lambda: (MEMBERS,), threading.Event(), 0) == (MEMBERS,)
    stopped = threading.Event()
    stopped.set()
    assert wait_for_members(lambda: (MEMBERS,), stopped) == (MEMBERS,)
    moving = [(MEMBERS,), (MEMBERS, MOVED)]
    assert wait_for_members(lambda: moving.pop(0), threading.Event()) == (MEMBERS, MOVED)
