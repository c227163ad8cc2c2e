"""Pauses double, and take the time together after which a part counts as lost."""

from __future__ import annotations

import itertools

import pytest

from towpath.archive.read.feed.late_parts import LateParts, LatePolicy
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition


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


TP = TopicPartition(TopicName("orders"), 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_looks_are_counted_until_a_part_is_lost() -> None:
    clock = Clock()
    late = LateParts(LatePolicy(retries=2, seconds=3.0), clock=clock)
    assert late.missed(TP, SourceOffset(5)) == (1.0, 1)
    clock.now += 1
    assert late.missed(TP, SourceOffset(5)) == (2.0, 2)
    clock.now += 2
    assert late.missed(TP, SourceOffset(5)) is None
    assert late.missed(TP, SourceOffset(5)) == (1.0, 1)  # a restore that begins anew


def test_a_look_that_comes_early_does_not_count() -> None:
    clock = Clock()
    late = LateParts(LatePolicy(retries=2, seconds=3.0), clock=clock)
    late.missed(TP, SourceOffset(5))
    clock.now += 0.25
    assert late.missed(TP, SourceOffset(5)) == (0.75, 1)


def test_another_part_that_is_late_has_looks_of_its_own() -> None:
    late = LateParts(LatePolicy(retries=2, seconds=3.0), clock=Clock())
    late.missed(TP, SourceOffset(5))
    late.came(TP)
    assert late.missed(TP, SourceOffset(9)) == (1.0, 1)
    assert late.missed(TP, SourceOffset(12)) == (1.0, 1)


def test_looks_of_slices_before_count() -> None:
    late = LateParts(LatePolicy(retries=3, seconds=7.0), {TP: 2}, clock=Clock())
    assert late.missed(TP, SourceOffset(5)) == (4.0, 3)
