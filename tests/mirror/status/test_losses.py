"""What a target lost, by its log end and the ledger. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ledger.books import opened, receipt
from tests.support.ledger.reasons import told
from towpath.ledger.books import PartitionBooks
from towpath.ledger.packed import Packer
from towpath.mirror.status.losses import LostRecords, loss
from towpath.model.nouns import (
    Mode,
    SourceOffset,
    TargetOffset,
    TopicName,
)

T = TopicName("t")
OPENED = opened(mode=Mode.MAPPED, source_start=SourceOffset(100), target_start=TargetOffset(20))
RECEIPT = receipt(
    source_end=SourceOffset(160),
    target_end=TargetOffset(60),
    sequence=40,
    records=40,
    mode=Mode.MAPPED,
    run=(SourceOffset(140), TargetOffset(40), 20),
)
RUNS = Packer(
    [(SourceOffset(100), TargetOffset(20), 10), (SourceOffset(120), TargetOffset(30), 10)]
).text()
BOOKS = PartitionBooks(
    OPENED, {(OPENED.producer_id, ""): RECEIPT}, {(OPENED.producer_id, "0"): RUNS}
)


@pytest.mark.parametrize(
    ("end", "first", "records"), [(0, 100, 40), (25, 105, 35), (35, 125, 25), (59, 159, 1)]
)
def test_what_is_lost_is_told_in_offsets_of_both_sides(end: int, first: int, records: int) -> None:
    assert loss(BOOKS, TargetOffset(end)) == LostRecords(
        TargetOffset(end), TargetOffset(60), SourceOffset(first), SourceOffset(160), records
    )


@pytest.mark.parametrize("end", [60, 61])
def test_a_log_that_ends_at_or_behind_what_was_acknowledged_lost_nothing(end: int) -> None:
    assert loss(BOOKS, TargetOffset(end)) is None


def test_a_copy_whose_front_is_being_filled_lost_nothing() -> None:
    begun = replace(
        RECEIPT,
        source_end=SourceOffset(100),
        target_end=TargetOffset(20),
        records=0,
        trouble=told("target: away"),
    )
    assert loss(PartitionBooks(OPENED, {(OPENED.producer_id, ""): begun}), TargetOffset(5)) is None
    assert loss(PartitionBooks(OPENED), TargetOffset(5)) is None
