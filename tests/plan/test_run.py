"""What a run tells of itself. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.model.nouns import TopicName
from towpath.plan.run import Progress
from towpath.plan.status import PartitionStatus, State

ORDERS = TopicName("orders")
ROW = PartitionStatus(
    ORDERS, 0, ORDERS, State.BEHIND, "identical", "", 10, 10, 5, 1.0, 10, 100, (), ""
)


def test_what_comes_while_it_runs_need_not_be_copied() -> None:
    """Else a run until caught up would miss something wherever producers go on."""
    ends = {(ORDERS, 0): 10}
    grown = replace(ROW, partition=1, source_end=0)
    assert Progress(rows=(ROW, grown), ends=ends).caught_up
    assert not Progress(rows=(replace(ROW, source_end=9),), ends=ends).caught_up


def test_only_what_this_run_copied_is_counted() -> None:
    progress = Progress(before={(ORDERS, 0): (4, 30)})
    assert progress.copied(ROW) == (6, 70)
    assert progress.copied(replace(ROW, partition=1)) == (10, 100)
