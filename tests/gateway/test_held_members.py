"""Members come to a held join before their group moves."""

from __future__ import annotations

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
