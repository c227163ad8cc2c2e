"""What a segment says must not contradict itself."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import pytest

from towpath.archive.model import (
    GapCounts,
    GapKind,
    OffsetGap,
    PartitionId,
    Segment,
    SegmentId,
    SegmentPlace,
)
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName

at = SourceOffset
SEGMENT = Segment(
    cluster=ClusterId("cluster"),
    topic_id=TopicId("id"),
    topic=TopicName("orders"),
    partition=3,
    start=at(100),
    end=at(200),
    raw_bytes=9_000,
    first=at(100),
    last=at(198),
    min_time=1,
    max_time=2,
    digest=Digest(98, 1, 2),
    gaps=GapCounts(marker=1, compacted=1),
    place=SegmentPlace(key="eu/orders/3/0/x.parquet", size=500, row_groups=1),
    created=5,
)


def test_every_kind_of_gap_is_counted() -> None:
    assert {each.name for each in fields(GapCounts)} == {kind.value for kind in GapKind}
    gaps = [OffsetGap(at(3), at(7), kind) for kind in GapKind]
    counts = GapCounts.of(gaps)
    assert [counts.get(kind) for kind in GapKind] == [4] * len(GapKind)
    assert counts.then(counts).total == 8 * len(GapKind)
    assert GapCounts.of([]) == GapCounts()


def test_a_segment_has_an_identity_that_its_topics_name_is_no_part_of() -> None:
    partition_id = PartitionId(ClusterId("cluster"), TopicId("id"), 3)
    assert SEGMENT.id == SegmentId(partition_id, 0, at(100), at(200))
    assert replace(SEGMENT, topic=TopicName("renamed")).id == SEGMENT.id
    assert str(SEGMENT.id) == "[100, 200) of id-3 of cluster cluster, level 0"
    assert pickle.loads(pickle.dumps(SEGMENT)) == SEGMENT  # noqa: S301 - ours


def test_records_and_gaps_cover_the_range() -> None:
    assert SEGMENT.problem is None
    short = replace(SEGMENT, gaps=GapCounts(marker=1))
    assert short.problem == "98 records and 1 offsets without one do not cover [100, 200)"
    assert replace(SEGMENT, end=at(100)).problem == "its range [100, 100) is empty or negative"


def test_only_records_need_an_object() -> None:
    assert replace(SEGMENT, place=None).problem == "it has 98 records and no object"
    empty = replace(
        SEGMENT, digest=Digest(), gaps=GapCounts(retention=100), place=None, first=None, last=None
    )
    assert empty.problem is None
    assert replace(empty, place=SEGMENT.place).problem == "it has 0 records and an object"


@pytest.mark.parametrize(
    ("first", "last", "what"),
    [
        (None, None, "the offsets of its first and last record are not known"),
        (at(100), None, "the offsets of its first and last record are not known"),
        (at(99), at(198), "its records [99, 198] are not inside its range"),
        (at(100), at(200), "its records [100, 200] are not inside its range"),
        (at(150), at(140), "its records [150, 140] are not inside its range"),
    ],
)
def test_records_are_inside_the_range(
    first: SourceOffset | None, last: SourceOffset | None, what: str
) -> None:
    assert replace(SEGMENT, first=first, last=last).problem == what
