"""The live display, on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.support.program import environment
from towpath.cli.show.progress import Display
from towpath.metrics import log

WHILE_SPARK_STARTS = """
import sys
from towpath.cli.show.progress import Display
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


def test_where_there_is_no_terminal_events_are_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_log", None)
    log.event("run.started", "demo", "", {}, trouble=False)
    with Display("demo"):
        facts = {"state": "stopped", "why": "it is [too] large", "step": {"do": "x"}, "mode": ""}
        log.event("partition.state", "demo", "orders-0", facts, trouble=True)
        log.event("round.ended", "demo", "", {"number": 3, "late": False}, trouble=False)
    said = capsys.readouterr().err.splitlines()
    assert [re.sub(r"^timestamp=\S+Z ", "", line) for line in said] == [
        "level=warning event=partition.state link=demo about=orders-0 state=stopped"
        ' why="it is [too] large" step="{\\"do\\": \\"x\\"}"',
        "level=info event=round.ended link=demo number=3 late=false",
    ]
