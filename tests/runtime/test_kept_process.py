"""A kept process is found by its folder, whoever started it and whatever became of the starter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from towpath.runtime.deadline import Deadline
from towpath.runtime.kept_process import KeptProcess

SLEEP = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(100)")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('up', flush=True); time.sleep(100)",
)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[KeptProcess]:
    made = KeptProcess(tmp_path / "7")
    yield made
    made.kill()


def up(kept: KeptProcess) -> None:
    wait_until(lambda: kept.log.exists() and "up" in kept.log.read_text(), "it printed")


def test_another_one_finds_and_stops_it(kept: KeptProcess) -> None:
    before = time.time_ns() // 1_000_000
    assert kept.start(SLEEP)
    found = KeptProcess(kept.folder)
    assert found.running
    assert found.pid == kept.pid is not None
    assert os.getsid(kept.pid) == kept.pid != os.getsid(0)
    assert found.started is not None
    # The clock of files has a tick of some milliseconds.
    assert before - 20 <= found.started <= time.time_ns() // 1_000_000
    assert not found.start(SLEEP), "it runs already"
    assert found.stop(Deadline.after(30))
    assert KeptProcess(kept.folder).pid is None
    assert KeptProcess(kept.folder).started is None


def test_it_outlives_a_starter_that_is_killed(kept: KeptProcess) -> None:
    text = (
        "import sys, time; from pathlib import Path;"
        "from towpath.runtime.kept_process import KeptProcess;"
        f"KeptProcess(Path({str(kept.folder)!r})).start({SLEEP!r}); time.sleep(100)"
    )
    starter = subprocess.Popen([sys.executable, "-c", text])
    up(kept)
    starter.kill()
    starter.wait()
    assert kept.running
    assert kept.stop(Deadline.after(30))


def test_it_is_killed_at_the_deadline(kept: KeptProcess) -> None:
    kept.start(STUBBORN)
    up(kept)
    assert not kept.stop(Deadline.after(0.1))
    assert not kept.running


def test_a_program_that_is_missing_has_ended_and_says_why(kept: KeptProcess) -> None:
    assert kept.start(("/nowhere/java", "x"))
    assert kept.wait(Deadline.after(30))
    assert "/nowhere/java" in kept.log.read_text()


def test_a_frozen_process_ends_too(kept: KeptProcess) -> None:
    kept.start(SLEEP)
    up(kept)
    kept.send(signal.SIGSTOP)
    assert kept.stop(Deadline.after(30))


def test_nothing_runs_where_nothing_was_started(tmp_path: Path) -> None:
    kept = KeptProcess(tmp_path / "8")
    assert not kept.running
    assert kept.stop(Deadline.after(0))


def test_a_pid_that_another_process_has_now_is_not_ours(kept: KeptProcess) -> None:
    kept.start(SLEEP)
    kept.kill()
    (kept.folder / "pid").write_text(f"{os.getpid()}\n")
    assert not kept.running
    kept.send(signal.SIGTERM)


def test_one_that_was_started_meanwhile_is_not_killed(kept: KeptProcess) -> None:
    class Frozen(KeptProcess):
        """Stops a process, and does not run between asking it to end and the deadline."""

        def wait(self, deadline: Deadline) -> bool:
            assert super().wait(Deadline.after(30 + deadline.left()))
            assert kept.start(SLEEP)
            return False

    kept.start(SLEEP)
    assert Frozen(kept.folder).stop(Deadline.after(0)), "the one that it asked has ended"
    assert kept.running
