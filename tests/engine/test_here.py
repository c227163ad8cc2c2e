"""Slices in processes of this machine, without Spark."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.kafka import wait_until
from tests.support.program import environment
from towpath.engine.processors import processors

pytestmark = pytest.mark.slow


def _driver(folder: Path, what: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.support.copying.forked", str(folder), what]
    with (folder / "out").open("wb") as out:
        return subprocess.Popen(words, env=environment(), stdout=out, stderr=out)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What came of slices, whose driver was killed in the end."""
    folder = tmp_path_factory.mktemp("forked")
    driver = _driver(folder, "all")
    last = folder / "killed"
    try:
        wait_until(lambda: last.exists() or driver.poll() is not None, "the last slice")
        assert driver.poll() is None, (folder / "out").read_text()
        told = json.loads((folder / "told.json").read_text())
        told["left"] = [int((folder / each).read_text()) for each in ("stopped", "killed")]
        told["attempts"] = (folder / "attempts").read_text()
        assert psutil.pid_exists(told["left"][1])
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    return told


def test_slices_have_processes_of_their_own(told: Any) -> None:
    found = told["rows"]
    assert [row["n"] for row in found["rows"]] == [1, 1, 2, 2, 3, 3]
    assert len({row["said"] for row in found["rows"] if row["said"]}) == 3
    assert found["told"][-1] == [3, 3]


@pytest.mark.parametrize("what", ["nothing", "none"])
def test_no_rows_have_columns_too(told: Any, what: str) -> None:
    assert told[what]["rows"] == []
    assert told[what]["types"] == ["int64", "string"]


def test_a_slice_that_was_killed_is_tried_again(told: Any) -> None:
    assert told["second"]["rows"] == [{"n": 1, "said": "went well"}]


def test_an_error_of_ours_comes_through_after_all_attempts(told: Any) -> None:
    assert told["attempts"] == "0 1 2 3 "
    assert told["ours"]["code"] == "STORE"
    assert "the disk of a slice is full" in told["ours"]["error"]


def test_any_other_error_is_told_in_a_line(told: Any) -> None:
    assert told["foreign"]["error"] == "a slice failed: LookupError: no such thing"


def test_no_more_slices_run_at_once_than_there_are_slots(told: Any) -> None:
    assert max(row["n"] for row in told["at once"]["rows"]) <= 2


def test_slices_end_when_they_are_stopped_and_when_the_driver_ends(told: Any) -> None:
    assert told["stopped"]["error"] == "a slice failed: it was stopped"
    wait_until(lambda: not any(map(psutil.pid_exists, told["left"])), "their end")


def test_the_end_of_what_starts_slices_ends_the_command(told: Any) -> None:
    assert told["lost"]["code"] == "SPARK_LOST"
    assert told["lost"]["error"].startswith("the process that starts slices ended all at once")


def test_a_slice_that_is_killed_each_time_says_where_to_look(told: Any) -> None:
    assert told["killed"]["code"] == "SPARK_LOST"
    assert told["killed"]["error"].startswith("the process of a slice ended all at once")


@pytest.mark.parametrize("how", [signal.SIGUSR1, signal.SIGKILL])
def test_signals_for_all_end_no_slice_and_the_end_of_the_driver_ends_all(
    tmp_path: Path, how: signal.Signals
) -> None:
    """The service manager signals each process, then slices are frozen when the driver ends."""
    driver = _driver(tmp_path, "tree")

    def began(name: str) -> list[psutil.Process]:
        file = tmp_path / name
        wait_until(lambda: file.exists() or driver.poll() is not None, f"the {name} slice")
        assert driver.poll() is None, (tmp_path / "out").read_text()
        return [psutil.Process(int(each)) for each in file.read_text().split()]

    try:
        slice_, _ = began("first")
        forker = slice_.parent()
        assert forker is not None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            slice_.send_signal(number)
            forker.send_signal(number)
        driver.send_signal(signal.SIGTERM)
        (tmp_path / "first.go").touch()
        left = [forker, *began("second")]
        told = json.loads((tmp_path / "told.json").read_text())
        assert [row["n"] for row in told["rows"]] == [0, 0]  # the first attempt went well
        for each in left[1:]:
            each.send_signal(signal.SIGSTOP)
        driver.send_signal(how)
        assert driver.wait(60) == (0 if how == signal.SIGUSR1 else -how)
        wait_until(lambda: not any(map(psutil.Process.is_running, left)), "nothing is left")
    finally:
        driver.kill()
        driver.wait()


@pytest.mark.parametrize(
    ("file", "text", "most"),
    [
        ("cpu.max", "100000 100000\n", 1),
        ("cpu.max", "max 100000\n", 10_000),
        ("cpu.max", "nonsense\n", 10_000),
        ("cpu/cpu.cfs_quota_us", "50000\n", 1),
        ("cpu/cpu.cfs_quota_us", "-1\n", 10_000),
    ],
)
def test_a_container_limits_the_processors(tmp_path: Path, file: str, text: str, most: int) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / file).write_text(text)
    unlimited = processors(tmp_path / "none")
    assert processors(tmp_path) == min(unlimited, most)
