"""Whether anything that the rounds of a run sent can still arrive at the target. Pure."""

from __future__ import annotations

import pytest

from towpath.records.late_writes import LateWrites


@pytest.mark.parametrize("before", [True, False])
def test_until_the_first_round_what_the_run_before_left_counts(*, before: bool) -> None:
    settled = LateWrites(before=before)
    assert (settled.now, settled.before) == (before, before)
    assert settled.begin(1) is before
    assert not settled.now, "the round goes on"
    assert settled.begin(1) is before, "Spark may ask for the plan of a round once more"


@pytest.mark.parametrize("end", [True, False])
def test_a_round_waits_for_what_is_under_way_so_only_its_own_end_counts(*, end: bool) -> None:
    settled = LateWrites(before=False)
    settled.begin(1)
    assert not settled.has_ended(1)
    settled.ended(1, settled=end)
    assert (settled.has_ended(1), settled.now) == (True, end)
    assert settled.begin(2) is end


def test_both_rounds_count_while_one_hands_over_to_the_other() -> None:
    settled = LateWrites()
    settled.begin(1)
    assert not settled.begin(2, follows=1)
    settled.ended(2, settled=True)
    assert not settled.now, "the first one goes on"
    settled.ended(1, settled=False)
    assert not settled.now, "the second one took over nothing yet"
    assert not settled.left(1)
    assert settled.now, "the second one waited for what the first one left"


def test_a_round_that_is_left_tells_whether_it_had_settled() -> None:
    settled = LateWrites()
    for number in (1, 2, 3):
        settled.begin(number, follows=number - 1)
    settled.ended(2, settled=True)
    assert settled.left(2)
    assert not settled.left(2), "it is forgotten"
    assert not settled.left(1), "it was cut off before it told of its end"
    settled.ended(1, settled=True)
    assert not settled.has_ended(1)


def test_the_end_of_a_failed_round_proves_nothing() -> None:
    settled = LateWrites()
    settled.begin(1)
    settled.begin(2, follows=1)
    settled.ended(1, settled=True)
    settled.failed()
    settled.ended(2, settled=True)
    assert not settled.now
    assert not settled.begin(3)


def test_behind_a_killed_run_paused_topics_stay_in_doubt() -> None:
    """No slice waits for what the killed run has sent to their partitions."""
    settled = LateWrites(before=False)
    assert not settled.begin(1, whole=False)
    settled.ended(1, settled=True)
    assert not settled.now
    assert not settled.begin(2)
    settled.ended(2, settled=True)
    assert not settled.now, "the slices of round 1 never had them, and those of round 2 may not"


def test_behind_a_run_that_left_nothing_paused_topics_do_not_matter() -> None:
    settled = LateWrites()
    assert settled.begin(1, whole=False)
    settled.ended(1, settled=True)
    assert settled.now


def test_a_round_that_fails_before_it_is_planned_leaves_nothing_settled() -> None:
    settled = LateWrites()
    settled.failed()
    assert not settled.now
    assert settled.before
