"""Members come to a held join before their group moves."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer import JoinGroupRequest, OffsetCommitRequest

from tests.support.clients.promoted_routes import promoted
from tests.support.clients.steered import step
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.routes import Routes
from towpath.gateway.seen_members import SeenMembers


def test_members_come_by_asking_to_join_or_by_giving_back() -> None:
    gathering = HeldMembers(frozenset({"c", "n"}), {"n": frozenset({"idle"})})
    members = {"c": ["a", "b"], "n": ["x", "idle"]}
    gathering.joins("c", "a")
    gathering.beats("n", "x", None)
    gathering.beats("n", "idle", None)
    assert gathering.missing(members) == {"c": ["b"], "n": ["x"]}
    gathering.beats("n", "idle", [object()])
    left = gathering.missing(members)
    assert left == {"c": ["b"], "n": ["idle", "x"]}, "it was given something just before"
    gathering.beats("n", "idle", [])
    gathering.beats("n", "x", [object()])
    gathering.joins("c", "b")
    assert gathering.missing(members) == {"n": ["x"]}
    gathering.beats("n", "x", [])
    assert gathering.missing(members) == {}


def test_a_member_that_left_is_not_waited_for() -> None:
    gathering = HeldMembers(frozenset({"c"}))
    assert gathering.missing({"c": ["a"]}) == {"c": ["a"]}
    assert gathering.missing({"c": []}) == {}


def test_members_that_were_gathered_in_vain_join_anew() -> None:
    routes = Routes(held=frozenset({"t"}), gathering=HeldMembers(frozenset({"n"})))
    assert routes.gathering is not None
    routes.gathering.beats("n", "x", [])
    routes.undo()
    assert routes.held == frozenset()
    assert routes.gathering is None
    assert routes.rejoining == {("n", "x")}


def joins(routes: Routes, group: str) -> bool:
    """Return whether a member of a group may join now."""
    asked = JoinGroupRequest(
        group_id=group, session_timeout_ms=1, rebalance_timeout_ms=1, member_id="m",
        group_instance_id=None, protocol_type="consumer", protocols=[], reason=None,
    )  # fmt: skip
    return step(routes, asked, 9) is not None


def commits(routes: Routes, group: str) -> bool:
    """Return whether offsets of a group may be committed now, by a client that is no member."""
    asked = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[],
    )
    return step(routes, asked, 8) is not None


@pytest.mark.parametrize("back", [False, True])
def test_new_groups_begin_when_it_is_known_where_they_go_on(*, back: bool) -> None:
    """Of a group that began at the source meanwhile nobody would write the offsets."""
    routes = promoted() if back else Routes()
    routes.is_whole, routes.of_source = back, frozenset({"elsewhere"})
    gathering = HeldMembers(frozenset({"moves"}), others=frozenset({"stays"}), back=back)
    routes.gathering = gathering
    assert [joins(routes, each) for each in ("moves", "stays", "new")] == [False, True, False]
    assert commits(routes, "new"), "it is taken in before offsets are read"
    gathering.closed = True
    assert [commits(routes, each) for each in ("moves", "stays", "new")] == [False, True, False]
    if back:
        assert joins(routes, "elsewhere"), "its cluster is not left"
    routes.undo()
    assert joins(routes, "new")
    assert commits(routes, "new")


def test_groups_that_moved_before_are_not_new() -> None:
    routes = promoted()
    routes.gathering = HeldMembers(frozenset({"moves"}))
    assert joins(routes, "g"), "it goes on on the target"


def test_members_that_were_never_heard_of_are_named() -> None:
    seen = SeenMembers(most=2)
    seen.saw("g", "here")
    assert seen.unseen({"g": ["here", "elsewhere"], "empty": []}) == {"g": ["elsewhere"]}


def test_of_many_members_those_are_remembered_that_were_heard_of_last() -> None:
    seen = SeenMembers(most=3)
    for number in range(1000):
        seen.saw("g", "lives")
        seen.saw("g", f"joined {number}")
    assert len(seen) == 3
    assert seen.unseen({"g": ["lives", "joined 999", "joined 5"]}) == {"g": ["joined 5"]}
