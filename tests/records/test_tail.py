"""What the log tells of our batches behind a receipt, where the leader has forgotten us."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.lanes import lane
from towpath.model.errors import DoubledError, TargetLostError
from towpath.records.tail import follow
from towpath.records.work import Position
from towpath.records.written import Span
from towpath.wire import batch as wire

WORK = lane().work
AT = Position(100, 200, 50)


def spans(*parts: tuple[int, int, int]) -> list[Span]:
    """Return spans of target offset, sequence and length."""
    return [Span(first, first + length, sequence, length) for first, sequence, length in parts]


def test_batches_that_follow_each_other_are_ours_once() -> None:
    found = spans((200, 50, 10), (215, 60, 5))
    assert follow(WORK, found, AT, begins_later=False) == (0, 65)
    assert follow(WORK, [], AT, begins_later=False) == (0, 50)


def test_sequences_wrap() -> None:
    last = wire.SEQUENCES - 1
    found = spans((200, last, 1), (201, 0, 4))
    assert follow(WORK, found, Position(0, 200, last), begins_later=False) == (0, 4)


@pytest.mark.parametrize(
    ("found", "stretch"),
    [
        (spans((200, 40, 10)), (200, 210, 10)),
        (spans((200, 50, 10), (210, 50, 10), (220, 60, 5)), (210, 220, 10)),
        (spans((200, 50, 10), (210, 30, 5), (215, 35, 5)), (210, 220, 10)),
    ],
)
def test_repeated_sequences_are_named(found: list[Span], stretch: tuple[int, int, int]) -> None:
    with pytest.raises(DoubledError) as raised:
        follow(WORK, found, AT, begins_later=False)
    assert (raised.value.first, raised.value.end, raised.value.records) == stretch


def test_missing_sequences_are_a_loss_unless_retention_or_the_cleaner_took_them() -> None:
    found = spans((220, 70, 5))
    with pytest.raises(TargetLostError):
        follow(WORK, found, AT, begins_later=False)
    assert follow(WORK, found, AT, begins_later=True) == (20, 75)
    assert follow(replace(WORK, compacted=True), found, AT, begins_later=False) == (0, 75)
    with pytest.raises(TargetLostError):
        follow(WORK, [*found, *spans((230, 80, 5))], AT, begins_later=True)
