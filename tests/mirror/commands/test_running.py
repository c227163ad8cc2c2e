"""What a run says at its end. Pure."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.support.ledger.standings import ROW
from towpath.mirror.commands.running import finish
from towpath.mirror.run.progress import RunProgress, Wishes
from towpath.mirror.status.open_transaction import OpenTransaction
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.deleted import DeletedRecords, Deleter
from towpath.model.nouns import SourceOffset, TopicName

FINE = replace(ROW, state=State.CAUGHT_UP, lag_records=0)
AGAIN = replace(
    FINE, topic=TopicName("again"), state=State.STOPPED, error="the topic was created again"
)


def said(capsys: pytest.CaptureFixture[str], *rows: PartitionStatus) -> tuple[int, str]:
    progress = RunProgress(rows=rows, began=time.monotonic())
    progress.start()
    code = finish("l", Wishes(until_caught_up=True), progress, None, stopped=False)
    return code, capsys.readouterr().out


def test_all_that_is_there_was_copied(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, FINE)
    assert code == 0
    first, _, rest = text.splitlines()[0].partition(": ")
    assert first.startswith("caught up after ")
    assert rest == "0 records, 0 B copied, lag 0"


def test_what_is_behind_an_open_transaction_is_told_beside_caught_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    held = OpenTransaction(first=20, offsets=31, producer_id=7)
    code, text = said(capsys, FINE, replace(FINE, partition=1, unstable=31, open=held))
    assert code == 0
    first, *_ = text.splitlines()
    assert first.startswith("caught up after ")
    assert first.endswith("lag 0; 31 more offsets behind open transactions (below)")
    assert "orders-1: offsets 20 to 50 are behind an open transaction of producer 7:" in text


def test_where_a_partition_is_stopped_nothing_is_called_caught_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = said(capsys, FINE, AGAIN)
    assert code == 3
    first, _, rest = text.splitlines()[0].partition(": ")
    assert first.startswith("ended after ")
    assert rest == "0 records, 0 B copied, lag 0; 1 partition not copied (below)"
    assert "again-0: the topic was created again" in text


@pytest.mark.parametrize(("meant", "due", "code"), [(False, 1, 3), (True, 1, 0), (False, 5, 0)])
def test_what_the_target_deleted_is_left_out_unless_it_is_meant_or_due(
    capsys: pytest.CaptureFixture[str], *, meant: bool, due: int, code: int
) -> None:
    gone = DeletedRecords(
        first=SourceOffset(0), end=SourceOffset(5), records=5, due=due, why=(Deleter.TIME,),
        meant=meant,
    )  # fmt: skip
    found, text = said(capsys, replace(FINE, deleted=gone))
    assert (found, text.count("the target deleted at most 5 records")) == (code, 1)
