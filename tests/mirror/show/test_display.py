"""What a run shows: a picture that moves by itself, or a log."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest

from tests.support.program import environment
from towpath.mirror.run.progress import RunPhase, RunProgress
from towpath.mirror.show import display
from towpath.mirror.show.display import Display
from towpath.runtime import log
from towpath.runtime.log import LogFormat, LogLevel, LogWanted

pytestmark = pytest.mark.slow

WHILE_SPARK_STARTS = """
import sys
from towpath.mirror.show.display import Display
from towpath.engine.session import _apart
starting = _apart()
starting.__enter__()
with Display("demo"):
    starting.__exit__(None, None, None)
print("well", file=sys.stderr)
"""
WHILE_THE_RUN_WAITS = """
import time
from towpath.mirror.show.display import Display
from towpath.cluster.connect.answering import Silence
from towpath.mirror.run.progress import RunProgress
with Display("demo") as display:
    began = time.monotonic()
    display.show(RunProgress(
        silences=lambda: (Silence("target", "broker 1 (b:9092)", time.monotonic() - began),)
    ))
    time.sleep(30)
"""


@pytest.fixture(autouse=True)
def no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_log", None)


def on_a_terminal(program: str) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-c", program], stderr=theirs, stdout=theirs,
        env=environment({"COLUMNS": "80", "LINES": "24"}),
    )  # fmt: skip
    os.close(theirs)
    return started, ours


def test_errors_can_be_told_after_a_display_that_began_while_spark_started() -> None:
    started, screen = on_a_terminal(WHILE_SPARK_STARTS)
    try:
        assert started.wait(60) == 0
        assert b"well" in os.read(screen, 1 << 16)
    finally:
        os.close(screen)


def test_the_clock_and_the_silence_go_on_while_the_run_waits() -> None:
    started, screen = on_a_terminal(WHILE_THE_RUN_WAITS)
    said, until = "", time.monotonic() + 60
    try:
        while time.monotonic() < until:
            said += os.read(screen, 1 << 16).decode(errors="replace")
            clocks = set(re.findall(r"demo  (\d\.\d) s  looking at both clusters", said))
            silences = set(re.findall(r"no answer from the target \(.*?\) for (\d) s", said))
            if len(clocks) >= 4 and len(silences) >= 2:
                return
        pytest.fail(f"it stood still: {said}")
    finally:
        started.kill()
        started.wait()
        os.close(screen)


def lines(shown: str) -> list[str]:
    return [re.sub(r"^timestamp=\S+Z ", "", line) for line in shown.splitlines()]


def test_where_there_is_no_terminal_events_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    log.event("run.started", "demo", "", {}, trouble=False)
    with Display("demo"):
        facts = {"state": "stopped", "why": "it is [too] large", "step": {"do": "x"}, "mode": ""}
        log.event("partition.state", "demo", "orders-0", facts, trouble=True)
        log.event("round.ended", "demo", "", {"number": 3, "late": False}, trouble=False)
    assert lines(capsys.readouterr().err) == [
        "level=warning event=partition.state link=demo about=orders-0 state=stopped"
        ' why="it is [too] large" step="{\\"do\\": \\"x\\"}"',
        "level=info event=round.ended link=demo number=3 late=false",
    ]


def test_a_log_as_json_and_of_trouble_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with Display("demo", LogWanted(LogLevel.WARNING, LogFormat.JSON)) as shown:
        shown.show(RunProgress(trouble="the target is away"))
    [line] = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", told.pop("timestamp"))
    assert told == {
        "level": "warning", "event": "run.trouble", "link": "demo", "why": "the target is away"
    }  # fmt: skip
    with Display("demo", LogWanted(LogLevel.NONE)) as shown:
        shown.show(RunProgress(trouble="the target is away"))
    assert capsys.readouterr().err == ""


def test_the_log_is_quiet_while_nothing_happens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "_LINE_EVERY", -1.0)  # the line is due at each look
    progress = RunProgress(phase=RunPhase.COPYING, slots=2)
    with Display("demo") as shown:
        shown.show(progress)
        first = lines(capsys.readouterr().err)
        shown.show(progress)
        assert capsys.readouterr().err == ""
        progress.trouble, progress.slots = "away", 3
        shown.show(progress)
        progress.trouble = ""
        shown.show(progress)
    assert [line.split(" link=demo")[0] for line in first] == [
        "level=info event=run.phase", "level=info event=run.progress",
    ]  # fmt: skip
    assert lines(capsys.readouterr().err) == [
        "level=warning event=run.trouble link=demo why=away",
        "level=info event=run.slices link=demo now=3 before=2",
        "level=info event=run.trouble_over link=demo",
    ]
