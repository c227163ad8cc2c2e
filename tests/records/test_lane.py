"""What a lane sends, and when it moves on."""

from __future__ import annotations

from tests.support.lanes import lane, plain, took
from towpath.records.lane import Lane


def flown(to: Lane) -> list[tuple[int, int]]:
    """Let all fly that may; return offsets and record counts."""
    flown = []
    while batch := to.next_batch():
        flown.append((batch.base, batch.count))
    return flown


def known(to: Lane) -> Lane:
    """Let the target know the lane, so that several batches may fly."""
    took(to, plain(0))
    assert flown(to) == [(0, 1)]
    to.acknowledge(0)
    to.unanswered -= 1
    return to


def test_what_was_sent_goes_again_as_it_was() -> None:
    sending = known(lane())
    for offset in (1, 2, 3):
        took(sending, plain(offset))
        assert flown(sending) == [(offset, 1)]
    took(sending, plain(4), plain(5))
    sending.send_again()
    assert flown(sending) == [(1, 1), (2, 1), (3, 1), (4, 2)]
