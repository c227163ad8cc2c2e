"""Programs that drivers run: late ones, and those that are not to hear our terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from towpath.kraft.reach.child import ChildLateError, run_child
from towpath.kraft.reach.scripts import WRITE


def test_what_a_program_prints_and_its_code_are_returned() -> None:
    done = run_child(["sh", "-c", "cat; echo no >&2; exit 7"], b"in", seconds=30)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"in", b"no\n")


def test_a_late_program_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    """A child that lives on holds the output open, which would be read for ever."""
    file = tmp_path / "pid"
    began = time.monotonic()
    with pytest.raises(ChildLateError, match="sh did not end within 1 s"):
        run_child(["sh", "-c", 'sleep 600 & echo $! > "$0"; wait', str(file)], seconds=1)
    assert time.monotonic() - began < 60
    left = Path(f"/proc/{int(file.read_text())}/stat")
    wait_until(lambda: not left.exists() or ") Z " in left.read_text(), "its child is gone")


def test_a_signal_of_our_terminal_does_not_reach_it() -> None:
    code = "import os; print(os.getpgid(0), os.getsid(0))"
    told = run_child([sys.executable, "-c", code], seconds=30).stdout.split()
    assert str(os.getpgid(0)).encode() not in told


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run_child(["/nowhere/ssh"], seconds=1)


@pytest.mark.parametrize("arrived", [b"a=1\nb=", b"", b"a=1\nb=2\nc"])
def test_a_file_is_not_replaced_by_what_arrived_of_it(tmp_path: Path, arrived: bytes) -> None:
    """A connection that is cut ends the input as its end does."""
    file = tmp_path / "x.properties"
    file.write_bytes(b"old=1\n")
    words = ["sh", "-c", WRITE, "sh", str(file), "", str(len(b"a=1\nb=2\n"))]
    done = subprocess.run(words, input=arrived, capture_output=True, check=False)
    assert done.returncode != 0
    assert b"of 8 bytes" in done.stderr
    assert file.read_bytes() == b"old=1\n"
    assert subprocess.run(words, input=b"a=1\nb=2\n", check=False).returncode == 0
    assert file.read_bytes() == b"a=1\nb=2\n"
