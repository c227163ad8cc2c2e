"""What a run says at its end. Pure."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.support.standings import ROW
from towpath.cli.running import finish
from towpath.mirror.progress import RunProgress, Wishes
from towpath.model.nouns import TopicName
from towpath.status.status import PartitionStatus, State

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


def test_where_a_partition_is_stopped_nothing_is_called_caught_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = said(capsys, FINE, AGAIN)
    assert code == 3
    first, _, rest = text.splitlines()[0].partition(": ")
    assert first.startswith("ended after ")
    assert rest == "0 records, 0 B copied, lag 0; 1 partition not copied (below)"
    assert "again-0: the topic was created again" in text
