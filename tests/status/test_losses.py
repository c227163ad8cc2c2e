"""What a target lost, by its log end and the ledger. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.reasons import told
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Opened, Receipt
from towpath.ledger.packed import Packer
from towpath.model.nouns import LinkName, Mode, ProducerId, TopicId, TopicName
from towpath.status.losses import Loss, loss

T = TopicName("t")
OPENED = Opened(
    LinkName("l"), T, 0, TopicId("s"), T, TopicId("t"), ProducerId(7), Mode.MAPPED, (), 100, 20,
    "run", 1,
)  # fmt: skip
RECEIPT = Receipt(
    OPENED.link, T, 0, OPENED.producer_id, 160, 0, 60, 40, 40, 400, 1, 2, 3, Mode.MAPPED, (),
    (140, 40, 20), None, 2,
)  # fmt: skip
RUNS = Packer([(100, 20, 10), (120, 30, 10)]).text()
BOOKS = PartitionBooks(
    OPENED, {(OPENED.producer_id, ""): RECEIPT}, {(OPENED.producer_id, "0"): RUNS}
)


@pytest.mark.parametrize(
    ("end", "first", "records"), [(0, 100, 40), (25, 105, 35), (35, 125, 25), (59, 159, 1)]
)
def test_what_is_lost_is_told_in_offsets_of_both_sides(end: int, first: int, records: int) -> None:
    assert loss(BOOKS, end) == Loss(end, 60, first, 160, records)


@pytest.mark.parametrize("end", [60, 61])
def test_a_log_that_ends_at_or_behind_what_was_acknowledged_lost_nothing(end: int) -> None:
    assert loss(BOOKS, end) is None


def test_a_copy_whose_front_is_being_filled_lost_nothing() -> None:
    begun = replace(RECEIPT, source_end=100, target_end=20, records=0, trouble=told("target: away"))
    assert loss(PartitionBooks(OPENED, {(OPENED.producer_id, ""): begun}), 5) is None
    assert loss(PartitionBooks(OPENED), 5) is None
