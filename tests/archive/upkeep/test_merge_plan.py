"""Which segments are merged: any level, any run, by count, bytes or age. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.archives import partition_id, segment
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.log.columns import SegmentTable, TabledPartition, table_of
from towpath.archive.model import GapKind, Segment, SegmentPlace
from towpath.archive.upkeep.slice.merge_plan import Bundle, bundled, next_slices, plan_merges
from towpath.model.nouns import SegmentFormat, TopicName

HOUR, DAY = 3_600_000, 86_400_000
NOW = 100 * DAY


def rule(**told: Any) -> CompactionConfig:
    return CompactionConfig.model_validate({"min_size": "1GiB", **told})


def tabled(*segments: Segment) -> SegmentTable:
    ids = sorted({each.partition_id for each in segments})
    places = {each: place for place, each in enumerate(ids)}
    names = {each.partition_id: each.topic for each in segments}
    rows = table_of(sorted(segments, key=lambda s: (s.partition_id, s.start)), places)
    return SegmentTable([TabledPartition(each, names[each]) for each in ids], rows)


def sized(start: int, end: int, size: int = 10, age: int = 2 * HOUR, **more: Any) -> Segment:
    """Return a segment whose object has a size, and that was made so long ago."""
    key = f"k-{more.get('partition', 0)}-{start}"
    place = SegmentPlace(key=key, size=size)
    return segment(start, end, place=place, created=NOW - age, **more)


def planned(given_rule: CompactionConfig, *segments: Segment) -> list[tuple[int, int, int]]:
    found = plan_merges(tabled(*segments), given_rule, NOW)
    return [(each.start, each.end, each.level) for each in found]


def test_ten_neighbours_are_merged_and_nine_wait() -> None:
    ten = [sized(at, at + 10) for at in range(0, 100, 10)]
    assert planned(rule(), *ten) == [(0, 100, 1)]
    assert planned(rule(), *ten[:9]) == []


def test_few_segments_are_merged_by_bytes_or_by_age() -> None:
    two = [sized(0, 10, 600 << 20), sized(10, 20, 600 << 20)]
    assert planned(rule(), *two) == [(0, 20, 1)]
    cold = [sized(0, 10, age=2 * DAY), sized(10, 20)]
    assert planned(rule(), *cold) == [(0, 20, 1)]
    assert planned(rule(), cold[1], sized(20, 30)) == []


def test_young_segments_and_other_levels_are_left_alone() -> None:
    young = [sized(at, at + 10, age=HOUR // 2) for at in range(0, 100, 10)]
    assert planned(rule(), *young) == []
    assert planned(rule(min_age="1m"), *young) == [(0, 100, 1)]
    high = [sized(at, at + 10, level=2) for at in range(0, 100, 10)]
    assert planned(rule(), *high) == []
    assert planned(rule(min_level=1, max_level=3), *high) == [(0, 100, 3)]


def test_a_hole_of_other_levels_parts_a_run_and_spoils_neither_side() -> None:
    """kafka-replicator gave up a whole partition where one segment was missing."""
    left = [sized(at, at + 10) for at in range(0, 100, 10)]
    right = [sized(at, at + 10) for at in range(200, 300, 10)]
    middle = sized(100, 200, level=1)
    assert planned(rule(), *left, middle, *right) == [(0, 100, 1), (200, 300, 1)]
    assert planned(rule(max_level=1), *left, middle, *right) == [(0, 300, 2)]


def test_gaps_part_nothing() -> None:
    gap = segment(50, 60, gaps=range(50, 60), kind=GapKind.RETENTION, created=0)
    some = [sized(at, at + 10) for at in (0, 10, 20, 30, 40, 60, 70, 80, 90)]
    assert planned(rule(), *some, gap) == [(0, 100, 1)]


def test_a_large_backlog_becomes_many_results_at_once() -> None:
    """kafka-replicator made one result for each partition and firing, so a backlog only grew."""
    some = [sized(at, at + 10, 100) for at in range(0, 1000, 10)]
    by_count = planned(rule(max_count=30), *some)
    assert [each[:2] for each in by_count] == [(0, 300), (300, 600), (600, 900), (900, 1000)]
    by_size = planned(rule(min_size="500B", max_size="1000B"), *some)
    assert len(by_size) == 10
    assert {end - start for start, end, _ in by_size} == {100}


def test_a_shared_object_counts_by_shares() -> None:
    place = SegmentPlace(key="shared", size=1000)
    some = [
        segment(at, at + 10, partition, place=place, created=0, raw_bytes=100 * (1 + 8 * (at > 0)))
        for partition in (0, 1)
        for at in (0, 10)
    ]
    found = plan_merges(tabled(*some), rule(min_count=2), NOW)
    assert [each.bytes for each in found] == [500, 500]


@given(st.data())
def test_rules_end_and_never_lose_order(data: st.DataObject) -> None:
    """Each merge leaves fewer segments, so that applying a rule again and again ends."""
    segments, at = list[Segment](), 0
    for _ in range(data.draw(st.integers(1, 30))):
        end = at + data.draw(st.integers(1, 5))
        age = data.draw(st.sampled_from([0, 2 * HOUR, 3 * DAY]))
        segments.append(sized(at, end, data.draw(st.integers(1, 100)), age,
                              level=data.draw(st.integers(0, 2))))  # fmt: skip
        at = end
    most = data.draw(st.integers(2, 10))
    given_rule = rule(
        max_level=2, min_count=2, max_count=most, min_size="1B", max_size="200B", min_age="1h"
    )
    while merges := plan_merges(tabled(*segments), given_rule, NOW):
        for each in merges:
            assert 2 <= len(each.segments) <= most
            assert each.bytes <= 200 or len(each.segments) == 1
            assert all(one in segments for one in each.segments)
            made = sized(each.start, each.end, each.bytes, level=each.level)
            segments = sorted(
                [made, *(one for one in segments if one not in each.segments)],
                key=lambda one: one.start,
            )
        assert segments[0].start == 0
        assert all(one.end == two.start for one, two in pairwise(segments))
    assert segments[-1].end == at


def test_small_results_of_a_topic_share_an_object() -> None:
    some = [
        sized(at, at + 10, 10 if partition < 5 else 9 << 20, partition=partition, topic=topic)
        for topic in ("a", "b")
        for partition in range(6)
        for at in (0, 10)
    ]
    merges = plan_merges(tabled(*some), rule(min_count=2), NOW)
    found = bundled(merges, 4 << 20)
    assert sorted(len(each) for each in found) == [1, 1, 5, 5]
    assert all(len({one.topic for one in each}) == 1 for each in found)
    assert len(bundled(merges, 0)) == 12
    whole = [
        segment(at, at + 10, created=0, format=SegmentFormat.BATCHES, partition=p)
        for p in (0, 1)
        for at in (0, 10)
    ]
    merges = plan_merges(tabled(*whole), rule(min_count=2), NOW)
    assert len(bundled(merges, 4 << 20, SegmentFormat.BATCHES)) == 2  # whole batches share nothing
    assert len(bundled(merges, 4 << 20, SegmentFormat.PARQUET)) == 1


def test_a_round_is_bounded_and_takes_a_large_merge_all_the_same() -> None:
    some = [
        sized(at, at + 10, size, partition=partition)
        for partition, size in enumerate([3 << 30, 1 << 30, 1 << 30, 1 << 30, 10])
        for at in (0, 10)
    ]
    merges = plan_merges(tabled(*some), rule(min_count=2, max_size="8GiB"), NOW)
    left: list[Bundle] = [(each,) for each in merges]
    rounds = []
    while left:
        slices, left = next_slices(left, 2, 2 << 30)
        assert len(slices) <= 2
        rounds.append(sorted(merge.id.partition for each in slices for (merge,) in each))
    assert rounds == [[0, 1], [2, 3], [4]]


def test_a_rule_looks_at_its_topics_and_wanted_partitions_alone() -> None:
    some = [
        sized(at, at + 10, partition=p, topic=t) for t in "ab" for p in (0, 1) for at in (0, 10)
    ]
    given_rule = rule(topics=["b"], min_count=2)
    found = plan_merges(tabled(*some), given_rule, NOW)
    assert [each.id for each in found] == [partition_id(0, "b"), partition_id(1, "b")]
    found = plan_merges(tabled(*some), given_rule, NOW, lambda each: each.id.partition == 1)
    assert [(each.topic, each.id.partition) for each in found] == [(TopicName("b"), 1)]
