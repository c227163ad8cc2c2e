"""What each of both clusters alone has behind the cut of a partition."""

from __future__ import annotations

from dataclasses import replace

from tests.support.failback import CUT, SALVAGED, found, log
from tests.support.ledger.books import TP, opened, receipt
from towpath.ledger.books import PartitionBooks
from towpath.ledger.offsets import OffsetMap
from towpath.mirror.failback.divergence import divergence
from towpath.model.nouns import (
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
)


def test_each_side_has_what_lies_behind_the_cut() -> None:
    one = found(log(13), log(17))
    assert (one.source.first, one.source.end, one.target.first, one.target.end) == (10, 13, 10, 17)
    assert one.is_conflict
    assert one.undecided
    assert str(one.source) == "up to 3 (offsets 10 to 12)"
    assert not one.identical, "the old source goes on where the link back begins"
    assert one.cut_back(9) is None


def test_what_holds_no_record_is_no_conflict() -> None:
    """The marker of a fence takes an offset; so does one of an aborted transaction."""
    one = found(log(13), log(11)).counted(3, 0)
    assert not one.is_conflict
    assert str(one.target) == "none"
    assert not found(log(10), log(17)).is_conflict
    assert found(log(10), log(17)).identical


def test_an_open_transaction_and_deleted_records_are_seen() -> None:
    one = found(log(20, start=12, stable=15), log(10))
    assert one.source.is_open
    assert (one.source.end, one.source.deleted) == (15, 2)
    assert found(log(13, start=40), log(10)).source.deleted == 3


def test_what_the_source_lost_of_the_mirrored_records_goes_back() -> None:
    """Its new leader lacked them, and has written others at their offsets since."""
    one = found(log(13), log(17), shared=7)
    assert (one.source.first, one.target.first) == (7, 7)
    border = one.cut_back(9)
    assert border == replace(CUT, source_end=SourceOffset(7), target_end=TargetOffset(7), at=9)
    assert found(log(13), log(17), shared=10).cut_back(9) is None


def test_where_the_target_lost_mirrored_records_the_way_back_begins_there() -> None:
    """Its new leader lacked them, and clients have written at their offsets since."""
    fenced = replace(CUT, fences=1)
    one = found(log(13), log(17), kept=7, cut=fenced)
    assert (one.source.first, one.target.first, one.target.fences) == (7, 7, 0)
    border = one.cut_back(9)
    assert border == replace(CUT, source_end=SourceOffset(7), target_end=TargetOffset(7), at=9)
    gone = found(log(10), log(17), kept=10, cut=fenced)
    assert (gone.target.first, gone.target.fences, gone.target.offsets) == (10, 0, 7)
    assert found(log(10), log(17), kept=11, cut=fenced).target.fences == 1


def test_mapped_offsets_lead_to_another_border() -> None:
    books = PartitionBooks()
    run = (SourceOffset(0), TargetOffset(100), 10)
    books.take(opened(mode=Mode.MAPPED, target_start=TargetOffset(100)))
    books.take(
        receipt(
            mode=Mode.MAPPED, source_end=SourceOffset(10), target_end=TargetOffset(110), run=run,
            records=10,
        )
    )  # fmt: skip
    books.take(replace(CUT, target_end=TargetOffset(110)))
    offsets: OffsetMap = books.offsets()
    one = divergence(TP, books, log(13), log(117), shared=SourceOffset(7), offsets=offsets)
    assert one.target.first == 107


def test_a_decision_is_remembered() -> None:
    one = found(log(15), log(17), SALVAGED)
    assert one.is_conflict
    assert not one.undecided
    assert one.wins is Side.TARGET
    assert found(log(15), log(17), replace(SALVAGED, producer_id=ProducerId(2))).undecided
