"""Offset maps that the translation of group offsets keeps."""

from __future__ import annotations

import pytest

from tests.support.ledger.books import opened, receipt
from towpath.groups import offset_maps
from towpath.groups.offset_maps import Positions
from towpath.ledger.books import LinkBooks
from towpath.ledger.chunks import Incarnation
from towpath.ledger.packed import Packer
from towpath.model.nouns import Mode, SourceOffset, TargetOffset, TopicName, TopicPartition

RUNS = 100


def books_of(partitions: int) -> LinkBooks:
    """Return what a ledger knows of partitions of which every second record was dropped."""
    books = LinkBooks(link=opened().link)
    for number in range(partitions):
        tp = TopicPartition(TopicName("orders"), number)
        first = opened(tp, mode=Mode.MAPPED)
        packer = Packer((SourceOffset(2 * run), TargetOffset(run), 1) for run in range(RUNS))
        chunk = Incarnation(first.link, tp, first.producer_id).chunk(packer, "a")
        ends = {"source_end": SourceOffset(2 * RUNS), "target_end": TargetOffset(RUNS)}
        for entry in (first, chunk, receipt(tp, mode=Mode.MAPPED, **ends)):
            books.take(entry)
    return books


def test_offset_maps_are_kept_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_maps, "_MOST_RUNS", 3 * (RUNS + 1))
    positions, most = Positions(books_of(10)), 0
    for _ in range(3):
        positions.begin({})
        for number in range(10):
            tp = TopicPartition(TopicName("orders"), number)
            assert positions.answer(tp, SourceOffset(20)).offset == 10
            kept = sum(each.count for _, each in positions._maps.values())
            most = max(most, kept)
    assert RUNS <= most <= 3 * (RUNS + 1)
    assert list(positions._maps) == [TopicPartition(TopicName("orders"), n) for n in (7, 8, 9)]


def test_a_map_that_is_larger_alone_is_kept_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_maps, "_MOST_RUNS", 1)
    positions = Positions(books_of(2))
    positions.begin({})
    for number, offset in ((0, 20), (1, 20), (0, 22)):
        tp = TopicPartition(TopicName("orders"), number)
        assert positions.answer(tp, SourceOffset(offset)).offset == offset // 2
        assert list(positions._maps) == [tp]
