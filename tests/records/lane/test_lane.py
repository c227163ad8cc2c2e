"""What a lane sends, and when it moves on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.copying.lanes import damaged, lane, plain, standing, took
from tests.support.ledger.reasons import told
from tests.support.logs.batches import batch, numbered
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.records.items import Batch, BecomeMapped, Fill
from towpath.records.lane.lane import Lane
from towpath.wire.digest import record_hashes
from towpath.wire.plain import Record


def flown(to: Lane) -> list[tuple[int, int]]:
    """Let all fly that may; return offsets and record counts."""
    flown: list[tuple[int, int]] = []
    while batch := to.next_batch():
        flown.append((batch.base, batch.count))
    return flown


def known(to: Lane) -> Lane:
    """Let the target know the lane, so that several batches may fly."""
    took(to, plain(0))
    assert flown(to) == [(0, 1)]
    to.acknowledge(TargetOffset(0))
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


def test_the_time_of_a_batch_counts_though_something_else_waits_before_it() -> None:
    """What comes first may be passed over at once, so that the batch is sent."""
    waiting = lane()
    assert waiting.queue.next_time is None
    waiting.queue.put(BecomeMapped(SourceOffset(0), told("a reason")))
    waiting.queue.put(Fill(SourceOffset(0), SourceOffset(5)))
    assert waiting.queue.next_time is None
    took(waiting, plain(0))
    [batch] = [item for item in waiting.queue.waiting if isinstance(item, Batch)]
    assert waiting.queue.next_time == batch.time
    assert waiting.next_batch() is batch


def waiting(of: Lane) -> list[tuple[int, int, int]]:
    """Return offset, record count and sequence of the batches that wait."""
    items = (item for item in of.queue.waiting if isinstance(item, Batch))
    return [(item.base, item.count, item.sequence) for item in items]


def test_small_batches_are_joined_as_they_come_in_and_again_while_they_wait() -> None:
    sending = known(lane())
    first = [plain(1), plain(2, 3), *map(plain, (5, 6))]
    took(sending, *first, plain(7, size=9000), plain(8), plain(9))
    assert waiting(sending) == [(1, 6, 1), (7, 1, 7), (8, 1, 8), (9, 1, 9)]
    assert sending.expected == 10
    took(sending, *(plain(offset, size=3000) for offset in (10, 11)), plain(12))
    assert waiting(sending)[-1] == (10, 3, 10)
    assert flown(sending) == [(1, 6), (7, 1), (8, 5)]


def test_a_damaged_small_batch_goes_as_it_came() -> None:
    sending = known(lane())
    took(sending, plain(1), damaged(plain(2)), plain(3))
    assert waiting(sending) == [(1, 1, 1), (2, 1, 2), (3, 1, 3)]


@pytest.mark.parametrize("mode", [*Mode])
@pytest.mark.parametrize("there", [10, 7])
def test_a_receipt_counts_the_part_of_a_batch_that_the_target_holds_on_both_sides(
    there: int, mode: Mode
) -> None:
    """Whoever goes on from that receipt would send this part again otherwise."""
    records = numbered([Record(b"k", b"%d" % n) for n in range(there)])
    held = BeyondReceipt(*record_hashes(bytes(batch(records[:7]))))
    sending = lane()
    sending.resume(replace(standing(), mode=mode, passed=held))
    took(sending, batch(records, last=9))
    receipt = sending.progress.receipt(LinkName("link"), "copier")
    assert (receipt.records, receipt.sequence, receipt.target_end) == (7, 7, 7)
    assert receipt.source_end == (10 if (there, mode) == (7, Mode.MAPPED) else 7)
