"""Deadlines, and time that does not count."""

from __future__ import annotations

from towpath.runtime.deadline import Deadline


def test_time_that_does_not_count_does_not_count_for_the_whole_either() -> None:
    whole = Deadline.after(8.0)
    part = whole.share(2).share(2)
    assert 1.9 < part.left() <= 2.0
    part.put_off(10.0)
    assert 11.9 < part.left() <= 12.0
    assert 17.9 < whole.left() <= 18.0


def test_what_is_over_has_nothing_to_share() -> None:
    over = Deadline(0.0)
    assert (over.over, over.left(), over.share(3).left()) == (True, 0.0, 0.0)
