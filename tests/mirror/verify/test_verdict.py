"""What `towpath verify` concludes for a partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ledger.standings import ROW
from towpath.ledger.books import PartitionBooks
from towpath.mirror.status.link_status import PartitionStatus
from towpath.mirror.verify.verdict import Verdict, verdict

BOOKS = PartitionBooks()
EVEN = replace(ROW, lag_records=0)


@pytest.mark.parametrize(
    ("row", "trouble", "late"),
    [
        (ROW, "", True),
        (EVEN, "", False),
        (replace(ROW, lag_records=-1), "", False),
        (replace(ROW, error="it stopped"), "", False),
        (ROW, "the target does not answer", False),
    ],
    ids=["behind", "caught up", "end unknown", "stopped", "not compared"],
)
def test_a_partition_is_late_if_the_source_has_newer_records_and_nothing_else(
    row: PartitionStatus, trouble: str, *, late: bool
) -> None:
    assert verdict(row, BOOKS, None, trouble).late == late


def test_an_error_is_told_beside_what_is_missing() -> None:
    said = verdict(replace(ROW, error="it stopped"), BOOKS, None, "")
    assert (said.verdict, said.why) == (
        Verdict.LEFT_OUT,
        "offsets 10 to 14 not yet copied: it stopped",
    )
