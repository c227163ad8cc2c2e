"""What answers of brokers mean."""

from __future__ import annotations

import pytest

from tests.support.ledger.reasons import RETENTION
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.model.errors import NotSetAsideError, RefusedError, UnreachableError
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.records.source.trouble import (
    SourceLoss,
    SourceTrouble,
    forked,
    source_loss,
    source_trouble,
)
from towpath.records.target.error_codes import TargetTrouble, target_trouble
from towpath.records.trouble import AGAIN, hopeless, is_gone, passes

TP = TopicPartition(TopicName("orders"), 0)


def fetched(error: int, diverging: tuple[int, int] | None = None) -> Fetched:
    return Fetched(
        tp=TP,
        error=error,
        high_watermark=0,
        last_stable=0,
        log_start=0,
        aborted=(),
        preferred_replica=-1,
        start=0,
        end=0,
        diverging=diverging,
    )


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (0, SourceTrouble.NONE),
        (1, SourceTrouble.RANGE),
        (3, SourceTrouble.GONE),
        (100, SourceTrouble.GONE),
        (103, SourceTrouble.GONE),
        (6, SourceTrouble.RETRY),
        (74, SourceTrouble.RETRY),
        (2, SourceTrouble.DAMAGED),
        (29, SourceTrouble.FORBIDDEN),
    ],
)
def test_each_error_of_a_fetch_has_its_meaning(error: int, meaning: SourceTrouble) -> None:
    assert source_trouble(fetched(error)) is meaning


def test_only_a_run_with_an_end_gives_a_partition_up() -> None:
    forbidden = RefusedError("source", "fetching a-0", 29, "TOPIC_AUTHORIZATION_FAILED")
    moved = RefusedError("source", "fetching a-0", 6, "NOT_LEADER_OR_FOLLOWER", retriable=True)
    assert [n for n in range(10) if hopeless(forbidden, n, has_end=True)] == [6, 7, 8, 9]
    assert not hopeless(forbidden, 99, has_end=False)
    assert not hopeless(moved, 99, has_end=True)
    unknown = RefusedError("source", "x", 58, "SASL_AUTHENTICATION_FAILED")
    assert [hopeless(unknown, n, has_end=True) for n in (5, 6)] == [False, True]
    assert not hopeless(unknown, 99, has_end=False)
    assert not hopeless(None, 99, has_end=True)


def test_what_cannot_be_set_aside_passes_as_its_cause_does() -> None:
    what = "target", "producing to __towpath_quarantine-0"
    away = NotSetAsideError(3, UnreachableError(*what, "no answer"))
    forbidden = NotSetAsideError(3, RefusedError(*what, 29, "TOPIC_AUTHORIZATION_FAILED"))
    gone = NotSetAsideError(3, RefusedError(*what, 3, "UNKNOWN_TOPIC_OR_PARTITION", retriable=True))
    large = NotSetAsideError(3, RefusedError(*what, 10, "MESSAGE_TOO_LARGE"))
    assert [passes(each) for each in (away, forbidden, gone, large)] == [True, True, True, False]
    assert [hopeless(each, 6, has_end=True) for each in (away, forbidden, gone)] == [
        False, True, False
    ]  # fmt: skip
    assert not hopeless(forbidden, 99, has_end=False)
    assert not is_gone(gone), "the mirror topic is there"
    assert str(large).startswith("it failed to set aside the record at offset 3")


def test_logs_that_part_were_cut() -> None:
    assert source_trouble(fetched(0, (3, 40))) is SourceTrouble.CUT


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (45, TargetTrouble.REOPEN),
        (46, TargetTrouble.REOPEN),
        (59, TargetTrouble.REOPEN),
        (10, TargetTrouble.SPLIT),
        (18, TargetTrouble.SPLIT),
        (2, TargetTrouble.DAMAGED),
        (87, TargetTrouble.REFUSED),
        (32, TargetTrouble.REFUSED),
        (6, TargetTrouble.REOPEN),
        (7, TargetTrouble.REOPEN),
        (20, TargetTrouble.REOPEN),
        (-1, TargetTrouble.REOPEN),
        (19, TargetTrouble.RETRY),
        (29, TargetTrouble.FORBIDDEN),
        (31, TargetTrouble.FORBIDDEN),
        (47, TargetTrouble.FOREIGN_ID),
        (49, TargetTrouble.FOREIGN_ID),
        (90, TargetTrouble.FOREIGN_ID),
    ],
)
def test_each_error_of_a_produce_has_its_meaning(error: int, meaning: TargetTrouble) -> None:
    assert target_trouble(error) is meaning


def test_who_was_never_accepted_cannot_be_forgotten() -> None:
    assert target_trouble(59, fresh=True) is TargetTrouble.FOREIGN_ID
    assert target_trouble(45, fresh=True) is TargetTrouble.REOPEN


def test_trouble_that_may_pass_is_told_from_what_stays() -> None:
    assert passes(UnreachableError("target", "x", "y"))
    assert passes(RefusedError("target", "x", 14, "LOADING", retriable=True))
    assert passes(RefusedError("target", "x", 90, "PRODUCER_FENCED"))
    assert passes(RefusedError("target", "x", 53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"))
    assert passes(RefusedError("target", "x", 58, "SASL_AUTHENTICATION_FAILED"))
    assert not passes(RefusedError("target", "x", 1, "OFFSET_OUT_OF_RANGE"))


def test_what_is_lost_lies_between() -> None:
    assert source_loss(SourceOffset(5), SourceOffset(9), SourceOffset(20)) == SourceLoss(
        SourceOffset(5), SourceOffset(9), SourceOffset(9), RETENTION
    )
    cut = source_loss(SourceOffset(30), SourceOffset(9), SourceOffset(20))
    assert cut is not None
    assert (cut.first, cut.end, cut.go_on) == (20, 30, 20)
    assert "the source log was cut to offset 20 (unclean leader election)" in str(cut.why)
    assert source_loss(SourceOffset(9), SourceOffset(9), SourceOffset(20)) is None
    assert source_loss(SourceOffset(20), SourceOffset(9), SourceOffset(20)) is None


def test_logs_of_two_leaders_are_the_same_up_to_where_a_later_epoch_began() -> None:
    """The leader's log may be longer than what was read; that is no gap of retention."""
    read = SourceOffset(150)
    for end, later, first in ((120, 150, 120), (120, 100, 100), (300, 100, 100), (300, 150, 149)):
        lost = forked(end, later, read)
        assert (lost.first, lost.end, lost.go_on) == (first, 150, first)
        assert lost.why.code is ReasonCode.SOURCE_CUT


def test_back_off_grows_to_ten_seconds() -> None:
    assert [AGAIN.after(n) for n in (1, 2, 3, 50)] == [0.1, 0.2, 0.4, 10.0]
