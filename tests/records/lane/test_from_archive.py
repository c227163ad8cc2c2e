"""Records that come from an archive are counted once each, however they are sent."""

from __future__ import annotations

from dataclasses import replace

from tests.support.copying.lanes import lane, plain, standing, took
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


def test_what_a_repair_copies_again_counts_once() -> None:
    """What came from the source before, and comes from the archive now, was not counted yet."""
    moved = lane()
    moved.progress.comes_from_archive(SourceOffset(0), SourceOffset(6))
    took(moved, plain(0, 6))
    took(moved, plain(6, 4))
    send(moved)
    before = moved.progress.receipt(LinkName("l"), "me")
    assert (archived(moved), before.archived) == (6, ((0, 6),))
    again = lane()
    again.progress.resume(replace(standing(), tally=before.tally, archived=before.archived))
    again.progress.comes_from_archive(SourceOffset(0), SourceOffset(10))
    took(again, plain(0, 10))
    send(again)
    assert archived(again) == 10
    assert again.progress.receipt(LinkName("l"), "me").archived == ((0, 10),)


def test_holes_part_no_stretch_and_only_the_newest_stretches_are_kept() -> None:
    moved = lane()
    moved.progress.comes_from_archive(SourceOffset(0), SourceOffset(20))
    took(moved, plain(0, 3))
    took(moved, plain(8, 4))
    send(moved)
    assert archived(moved) == 7
    assert moved.progress.receipt(LinkName("l"), "me").archived == ((0, 12),)
    for first in range(100, 1000, 10):
        moved.progress.comes_from_archive(SourceOffset(first), SourceOffset(first + 2))
        took(moved, plain(first, 2))
        send(moved)
    told = moved.progress.receipt(LinkName("l"), "me").archived
    assert (len(told), told[-1]) == (64, (990, 992))


def test_what_was_cut_at_the_source_is_counted_anew() -> None:
    moved = lane()
    moved.progress.comes_from_archive(SourceOffset(0), SourceOffset(9))
    took(moved, plain(0, 9))
    send(moved)
    moved.progress.move(SourceOffset(3), -1)
    assert moved.progress.receipt(LinkName("l"), "me").archived == ((0, 3),)
