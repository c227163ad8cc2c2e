"""Records that come from an archive are counted once each, however they are sent."""

from __future__ import annotations

from tests.support.lanes import lane, plain, took
from towpath.model.nouns import LinkName, SourceOffset, TargetOffset
from towpath.records.lane.lane import Lane


def archived(moved: Lane) -> int:
    return dict(moved.progress.receipt(LinkName("l"), "me").tally).get("archived", 0)


def send(moved: Lane) -> None:
    while (batch := moved.next_batch()) is not None:
        moved.unanswered -= 1
        moved.acknowledge(TargetOffset(batch.base))


def test_only_records_of_the_archive_count() -> None:
    moved = lane()
    took(moved, plain(0, 5))
    moved.progress.comes_from_archive(SourceOffset(5), SourceOffset(12))
    took(moved, plain(5, 4))
    took(moved, plain(9, 3))
    took(moved, plain(12, 6))
    send(moved)
    assert (moved.progress.position.source, archived(moved)) == (18, 7)


def test_what_is_read_twice_counts_once() -> None:
    moved = lane()
    for first in (0, 0, 3):
        moved.progress.comes_from_archive(SourceOffset(first), SourceOffset(10))
    took(moved, plain(0, 10))
    moved.progress.comes_from_archive(SourceOffset(10), SourceOffset(14))
    took(moved, plain(10, 4))
    send(moved)
    assert archived(moved) == 14
