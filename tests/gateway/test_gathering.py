"""Members come to a held join before their group moves."""

from __future__ import annotations

from towpath.gateway.gathering import Gathering
from towpath.gateway.routes import Routes, coming


def test_members_come_by_asking_to_join_or_by_giving_back() -> None:
    gathering = Gathering(frozenset({"c", "n"}), {"n": frozenset({"idle"})})
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
    gathering = Gathering(frozenset({"c"}))
    assert gathering.missing({"c": ["a"]}) == {"c": ["a"]}
    assert gathering.missing({"c": []}) == {}


def test_members_that_were_gathered_in_vain_join_anew() -> None:
    routes = Routes(held=frozenset({"t"}), gathering=Gathering(frozenset({"n"})))
    assert routes.gathering is not None
    routes.gathering.beats("n", "x", [])
    routes.undo()
    assert routes.held == frozenset()
    assert routes.gathering is None
    assert routes.rejoining == {("n", "x")}


def test_members_that_were_never_heard_of_are_named() -> None:
    routes = Routes()
    routes.saw("g", "here")
    assert coming(routes, {"g": ["here", "elsewhere"], "empty": []}) == {"g": ["elsewhere"]}
