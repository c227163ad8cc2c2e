"""The live display, on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.support.program import environment
from tests.support.standings import ROW
from towpath.cli.progress import Display
from towpath.mirror.run import Progress
from towpath.status.status import State

WHILE_SPARK_STARTS = """
import sys
from towpath.cli.progress import Display
from towpath.engine.session import _apart
starting = _apart()
starting.__enter__()
with Display("demo"):
    starting.__exit__(None, None, None)
print("well", file=sys.stderr)
"""


def test_errors_can_be_told_after_a_display_that_began_while_spark_started() -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", WHILE_SPARK_STARTS], stderr=theirs, stdout=theirs,
            env=environment(), timeout=60, check=False,
        )  # fmt: skip
        os.close(theirs)
        assert b"well" in os.read(ours, 1 << 16)
    finally:
        os.close(ours)
    assert done.returncode == 0


def test_partitions_that_stop_are_named_once_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stopped = replace(ROW, state=State.STOPPED, error="the record is [too] large")
    display = Display("demo")
    for row in (ROW, stopped, stopped, replace(stopped, partition=1), ROW):
        display.show(Progress(rows=(row,)))
    told = [line for line in capsys.readouterr().err.splitlines() if "stopped" in line]
    assert told == [
        "stopped: orders-0: the record is [too] large",
        "stopped: orders-1: the record is [too] large",
        "no partition is stopped any more",
    ]
