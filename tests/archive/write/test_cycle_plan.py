"""What a cycle archives: every offset once, in order, within the limits, and nobody is left out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.archive.config.segments import SegmentLimits
from towpath.archive.model import GapKind, OffsetGap, PartitionId
from towpath.archive.write.slice.cycle_plan import (
    GUESS,
    TASK_BYTES,
    CyclePlan,
    CycleTerms,
    PartitionView,
    PlannedRange,
    plan_cycle,
)
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName

LIMITS = SegmentLimits(messages=1_000_000, bytes=100 << 20, age=300.0)
TERMS = CycleTerms(limits=lambda _: LIMITS, share=4 << 20, slots=2)


def name_of(topic: str, partition: int = 0) -> PartitionId:
    return PartitionId(ClusterId("c"), TopicId(f"id-{topic}"), partition)


def view(
    end: int,
    topic: str = "t",
    partition: int = 0,
    *,
    archived_to: int = 0,
    log_start: int = 0,
    waited: float = 0.0,
    density: float | None = 1000.0,
    ahead: tuple[tuple[int, int], ...] = (),
) -> PartitionView:
    return PartitionView(
        id=name_of(topic, partition),
        topic=TopicName(topic),
        archived_to=SourceOffset(archived_to),
        log_start=SourceOffset(log_start),
        stable_end=SourceOffset(end),
        waited=waited,
        density=density,
        ahead=tuple((SourceOffset(first), SourceOffset(last)) for first, last in ahead),
    )


def spans(plan: CyclePlan) -> dict[PartitionId, list[tuple[int, int]]]:
    found = defaultdict[PartitionId, list[tuple[int, int]]](list)
    for each in plan.ranges:
        found[each.id].append((each.start, each.end))
    return {partition: sorted(ranges) for partition, ranges in found.items()}


# When a partition is due


@pytest.mark.parametrize(
    ("about", "due"),
    [
        (view(0), False),
        (view(10), False),
        (view(10, waited=299.9), False),
        (view(10, waited=300.0), True),
        (view(999_999, density=1.0), False),
        (view(1_000_000, density=1.0), True),
        (view(200, density=float(1 << 20)), True),
        (view(50, density=float(1 << 20)), False),
        (view(10, archived_to=10, waited=999.0), False),
        (view(5, archived_to=10, waited=999.0), False),
        (view(30, ahead=((10, 20),)), True),
    ],
)
def test_a_partition_is_due_by_age_by_messages_and_by_bytes(
    about: PartitionView, due: bool
) -> None:
    assert bool(plan_cycle([about], TERMS).ranges) is due


def test_limits_are_those_of_the_topic() -> None:
    terms = replace(
        TERMS,
        limits=lambda topic: replace(LIMITS, age=1.0) if topic == "fast" else LIMITS,
    )
    plan = plan_cycle([view(10, "fast", waited=1.0), view(10, "slow", waited=1.0)], terms)
    assert [*spans(plan)] == [name_of("fast")]


def test_everything_is_due_where_a_run_ends() -> None:
    views = [view(10, f"t{number}") for number in range(3)]
    assert len(plan_cycle(views, replace(TERMS, all_due=True)).ranges) == 3


def test_small_partitions_of_a_topic_go_along_with_one_that_is_due() -> None:
    views = [
        view(10, "a", 0, waited=300.0),
        view(10, "a", 1, waited=151.0),
        view(10, "a", 2, waited=10.0),
        view(50_000, "a", 3, waited=151.0),
        view(10, "b", 0, waited=151.0),
    ]
    plan = plan_cycle(views, TERMS)
    assert {*spans(plan)} == {name_of("a", 0), name_of("a", 1)}
    assert all(each.shares for each in plan.ranges)
    assert len(plan.tasks) == 1


# Ranges


def test_a_hot_partition_is_split_over_tasks() -> None:
    plan = plan_cycle([view(1_500_000, waited=300.0)], TERMS)
    assert len(plan.ranges) == 16
    assert len(plan.tasks) == 2
    assert spans(plan)[name_of("t")][0][0] == 0
    assert max(each.bytes for each in plan.ranges) <= LIMITS.bytes


def test_what_is_not_known_is_probed_by_one_range() -> None:
    (only,) = plan_cycle([view(5_000_000, density=None)], TERMS).ranges
    assert (only.start, only.end, only.probe) == (0, 5_000_000, True)
    (small,) = plan_cycle([view(10, density=None, waited=300.0)], TERMS).ranges
    assert (small.probe, small.shares, small.bytes) == (False, True, round(10 * GUESS))


def test_a_cycle_has_a_bound_and_takes_from_each_partition_first() -> None:
    views = [view(50_000_000, f"t{number}", waited=300.0) for number in range(3)]
    plan = plan_cycle(views, TERMS)
    assert sum(each.bytes for each in plan.ranges) <= TERMS.most_bytes
    counts = [len(ranges) for ranges in spans(plan).values()]
    assert max(counts) - min(counts) <= 1
    assert plan.left


def test_one_range_is_taken_however_large_it_is() -> None:
    terms = replace(TERMS, limits=lambda _: replace(LIMITS, bytes=4 << 30), slots=1)
    assert len(plan_cycle([view(10_000_000)], terms).ranges) == 1


# What is gone, and what is written ahead


def test_records_that_retention_deleted_are_a_gap() -> None:
    plan = plan_cycle([view(100, archived_to=10, log_start=40, waited=300.0)], TERMS)
    assert plan.gaps == {name_of("t"): OffsetGap(SourceOffset(10), SourceOffset(40), KIND)}
    assert spans(plan) == {name_of("t"): [(40, 100)]}


KIND = GapKind.RETENTION


def test_a_gap_is_told_at_once_even_if_nothing_else_is_due() -> None:
    plan = plan_cycle([view(40, archived_to=10, log_start=40)], TERMS)
    assert [*plan.gaps] == [name_of("t")]
    assert plan.tasks == ()


def test_a_log_that_was_cut_gives_no_range() -> None:
    about = view(5, archived_to=10, waited=999.0)
    assert (about.cut_by, about.pending) == (5, 0)
    assert plan_cycle([about], TERMS) == CyclePlan()


def test_ranges_that_wait_for_others_are_not_read_again() -> None:
    about = view(100, archived_to=10, ahead=((30, 40), (60, 80)), waited=300.0)
    assert spans(plan_cycle([about], TERMS)) == {name_of("t"): [(10, 30), (40, 60), (80, 100)]}


def test_retention_does_not_take_what_is_written_ahead() -> None:
    about = view(100, archived_to=10, log_start=70, ahead=((30, 80),), waited=300.0)
    plan = plan_cycle([about], TERMS)
    assert plan.gaps == {name_of("t"): OffsetGap(SourceOffset(10), SourceOffset(30), KIND)}
    assert spans(plan) == {name_of("t"): [(80, 100)]}


# Always

offsets = st.integers(0, 3_000_000)


@st.composite
def views(draw: st.DrawFn) -> PartitionView:
    archived_to, log_start = draw(offsets), draw(offsets)
    end = max(log_start, draw(offsets))
    borders = sorted(
        draw(st.sets(st.integers(archived_to + 1, archived_to + 1_000_000), max_size=6))
    )
    ahead = [*pairwise(borders)][::2]
    return view(
        end,
        draw(st.sampled_from("abc")),
        draw(st.integers(0, 1_000_000)),
        archived_to=archived_to,
        log_start=log_start,
        waited=draw(st.floats(0, 1000)),
        density=draw(st.none() | st.floats(0, 1e7)),
        ahead=tuple((first, last) for first, last in ahead if last <= end),
    )


@given(
    st.lists(views(), max_size=30, unique_by=lambda each: each.id),
    st.integers(1, 64),
    st.booleans(),
)
def test_ranges_never_overlap_never_leave_a_hole_and_keep_the_limits(
    known: list[PartitionView], slots: int, all_due: bool
) -> None:
    terms = replace(TERMS, slots=slots, all_due=all_due)
    plan = plan_cycle(known, terms)
    by_id = {each.id: each for each in known}
    for partition, ranges in spans(plan).items():
        about = by_id[partition]
        covered = sorted([*ranges, *about.ahead])
        start = about.archived_to
        if partition in plan.gaps:
            assert plan.gaps[partition].first == start
            start = plan.gaps[partition].end
        assert covered[0][0] == start
        assert all(first[1] <= second[0] for first, second in pairwise(covered))
        if not plan.left:
            assert all(first[1] == second[0] for first, second in pairwise(covered))
            assert covered[-1][1] == about.stable_end
    for each in plan.ranges:
        assert each.start < each.end
        assert each.bytes <= LIMITS.bytes + (by_id[each.id].density or 0)
    assert {*plan.gaps} == {each.id for each in known if each.overtaken}


@given(st.lists(views(), max_size=30, unique_by=lambda each: each.id), st.integers(1, 64))
def test_a_cycle_never_waits_for_ever(known: list[PartitionView], slots: int) -> None:
    terms = replace(TERMS, slots=slots, all_due=True)
    plan = plan_cycle(known, terms)
    pending = [each for each in known if each.pending and each.pending > sum_of(each)]
    assert bool(plan.ranges) >= bool(pending)
    size = sum(each.bytes for each in plan.ranges)
    most = max((each.bytes for each in plan.ranges), default=0)
    assert size <= max(terms.most_bytes, most)
    assert all(task_bytes(task) <= TASK_BYTES or len(task) == 1 for task in plan.tasks)


def sum_of(about: PartitionView) -> int:
    return sum(end - max(first, about.start) for first, end in about.ahead if end > about.start)


def task_bytes(task: tuple[PlannedRange, ...]) -> int:
    return sum(each.bytes for each in task)
