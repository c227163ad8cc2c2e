"""What a run tells of itself. Pure."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.standings import ORDERS, ROW
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.status.losses import LostRecords
from towpath.mirror.status.partition_status import State
from towpath.mirror.status.partitions import caught_up
from towpath.model.nouns import SourceOffset, TargetOffset


def test_what_comes_while_it_runs_need_not_be_copied() -> None:
    """Else a run until caught up would miss something wherever producers go on."""
    grown = replace(ROW, partition=1, source_end=0)
    progress = RunProgress(ends={(ORDERS, 0): 10})
    assert progress.caught_up(ROW)
    assert progress.caught_up(grown)
    assert not progress.caught_up(replace(ROW, source_end=9))
    assert not progress.caught_up(
        replace(
            ROW,
            lost=LostRecords(
                TargetOffset(5), TargetOffset(10), SourceOffset(5), SourceOffset(10), 5
            ),
        )
    )


def test_a_topic_that_was_made_again_is_done_at_its_own_end() -> None:
    """Its ledger entry of before stands at an offset that the new topic may never reach."""
    before = replace(ROW, source_end=100, lag_records=0, source_log_end=2)
    progress = RunProgress(rows=(before,))
    progress.start()
    restarted = replace(before, producer_id=8, source_end=2, state=State.CAUGHT_UP)
    assert progress.caught_up(restarted)
    assert not progress.caught_up(replace(restarted, source_end=1))
    during = RunProgress(ends={(ORDERS, 0): 100})
    assert during.caught_up(restarted), "it was made again, and restarted, in the middle of the run"


def test_a_partition_whose_end_was_unknown_is_caught_up_only_without_lag() -> None:
    """It had no leader when the run began, so no round may have asked for it."""
    progress = RunProgress(ends={(ORDERS, 0): None})
    assert not progress.caught_up(ROW)
    assert not progress.caught_up(replace(ROW, lag_records=-1))
    assert progress.caught_up(replace(ROW, lag_records=0))
    assert replace(ROW, lag_records=-1).why == "orders-0: the source did not tell where it ends"
    assert ROW.why == "orders-0: offsets 10 to 14 not yet copied"


def test_a_copy_is_filled_only_when_it_is_known_to_be() -> None:
    """Else retention would be released before the records are there that it may delete."""
    done = replace(ROW, lag_records=0, lag_seconds=0.0, state=State.CAUGHT_UP)
    assert caught_up([done, replace(ROW, partition=1, lag_seconds=5.0)]) == {ORDERS}
    for unsure in (
        replace(done, state=State.NOT_STARTED),
        replace(done, state=State.STOPPED),
        replace(done, state=State.NO_LEADER),
        replace(ROW, lag_seconds=61.0),
        replace(ROW, lag_seconds=0.0),
        replace(ROW, lag_records=-1, lag_seconds=-1.0),
    ):
        assert caught_up([done, unsure]) == frozenset()


def test_only_what_this_run_copied_is_counted() -> None:
    progress = RunProgress(before={7: (4, 30)})
    assert progress.copied(ROW) == (6, 70)
    assert progress.copied(replace(ROW, producer_id=8)) == (10, 100), "it was made again"
