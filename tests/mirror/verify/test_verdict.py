"""What `towpath verify` concludes for a partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ledger.books import opened
from tests.support.ledger.standings import ROW
from towpath.ledger.books import PartitionBooks
from towpath.mirror.status.before_start import never_copied
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.verify.verdict import Verdict, verdict
from towpath.model.nouns import SourceOffset
from towpath.settings.sections.records import StartAt

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


@pytest.mark.parametrize(
    ("start", "earliest", "offsets"),
    [
        (StartAt.LATEST, 0, "0 to 39"),
        (StartAt.COMMITTED, 7, "7 to 39"),
        (1_700_000_000_000, 0, "0 to 39"),
        (StartAt.LATEST, 40, ""),
        (StartAt.EARLIEST, 0, ""),
    ],
)
def test_records_from_before_the_start_are_told(
    start: StartAt | int, earliest: int, offsets: str
) -> None:
    """They were told nowhere, where the file names no groups."""
    books = PartitionBooks(opened(source_start=SourceOffset(40)))
    said = verdict(EVEN, books, None, "", before=never_copied(start, books, earliest))
    text = f"source offsets {offsets} ({40 - earliest}) are from before `records.start`: this link"
    assert said.verdict is Verdict.EQUAL
    assert said.notes == ((f"{text} neither copies nor compares them",) if offsets else ())
    assert never_copied(start, PartitionBooks(), earliest) is None


def test_an_error_is_told_beside_what_is_missing() -> None:
    said = verdict(replace(ROW, error="it stopped"), BOOKS, None, "")
    assert (said.verdict, said.why) == (
        Verdict.LEFT_OUT,
        "offsets 10 to 14 not yet copied: it stopped",
    )
