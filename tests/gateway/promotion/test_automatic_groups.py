"""Groups are promoted once nobody reads at the source, if the file says so."""

from __future__ import annotations

from towpath.gateway.promotion.automatic_groups import EMPTY, AutomaticGroups
from towpath.gateway.promotion.group_scope import ahead
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicName, TopicPartition

GROUP = ClientGroup("g")
PLACE = TopicPartition(TopicName("t"), 0)


class Times:
    """The time, which goes on when it is told to."""

    def __init__(self, wanted: str | int) -> None:
        self.seconds, self.ms = 0.0, 0
        self.groups = AutomaticGroups(wanted, lambda: self.seconds, lambda: self.ms)


def test_a_group_moves_once_it_was_empty_for_a_while() -> None:
    times = Times("auto")
    assert times.groups.due({"g": 0}) == []
    times.seconds = EMPTY - 1
    assert times.groups.due({"g": 1}) == [], "a member came back"
    times.seconds = EMPTY
    assert times.groups.due({"g": 0}) == []
    times.seconds = 2 * EMPTY
    assert times.groups.due({"g": 0, "h": 3}) == ["g"]


def test_an_attempt_that_was_undone_is_repeated_later() -> None:
    times = Times("auto")
    times.groups.due({"g": 0})
    times.seconds = EMPTY
    assert times.groups.due({"g": 0}) == ["g"]
    times.groups.undone(["g"])
    times.seconds += 29
    assert times.groups.due({"g": 0}) == []
    times.seconds += 1
    assert times.groups.due({"g": 0}) == ["g"]


def test_by_hand_only_groups_begin_that_the_source_does_not_have() -> None:
    times = Times("hand")
    times.groups.due({"g": 0, "new": None})
    times.seconds = 60.0
    assert times.groups.due({"g": 0, "new": None}) == ["new"]


def test_the_gateway_that_began_first_sees_to_groups_first() -> None:
    times = Times("hand")
    times.groups.due({"new": None})
    times.seconds = 2.0
    assert times.groups.due({"new": None}, turn=4.0) == []
    times.seconds = 6.0
    assert times.groups.due({"new": None}, turn=4.0) == ["new"]


def test_at_a_time_groups_move_from_then_on() -> None:
    times = Times(5000)
    times.groups.due({"g": 0})
    times.seconds, times.ms = 60.0, 4999
    assert times.groups.due({"g": 0}) == []
    times.ms = 5000
    assert times.groups.due({"g": 0}) == ["g"]


def test_the_target_must_have_all_that_a_group_has_read() -> None:
    commits = {GROUP: {PLACE: Commit(10)}}
    assert ahead(commits, {PLACE: 10}) is None
    assert ahead(commits, {PLACE: 7}) == (GROUP, PLACE, 3)
    assert ahead(commits, {}) == (GROUP, PLACE, 10)
    assert ahead({GROUP: {}}, {}) is None
