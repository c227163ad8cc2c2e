"""Pauses double, and take the time together after which a part counts as lost."""

from __future__ import annotations

import itertools

import pytest

from towpath.segments.ingress.late import LatePolicy


def test_the_pauses_of_the_specified_system() -> None:
    """An hour in five looks."""
    late = LatePolicy(retries=5, seconds=3600)
    pauses = [late.pause(tries) for tries in range(6)]
    assert [round(each or 0) for each in pauses] == [116, 232, 465, 929, 1858, 0]
    assert pauses[-1] is None


@pytest.mark.parametrize(("retries", "seconds"), [(1, 1.0), (16, 86_400.0), (50, 10.0)])
def test_pauses_double_and_take_the_time_together(retries: int, seconds: float) -> None:
    late = LatePolicy(retries=retries, seconds=seconds)
    pauses = [late.pause(tries) or 0.0 for tries in range(retries)]
    assert sum(pauses) == pytest.approx(seconds)
    assert all(b == pytest.approx(2 * a) for a, b in itertools.pairwise(pauses))


def test_without_a_look_a_part_is_lost_at_once() -> None:
    assert LatePolicy(retries=0).pause(0) is None
