"""What a session leaves behind when it is killed is ended by its guardian."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.kafka import wait_until
from tests.support.session import guardian


def test_one_that_has_just_ended_keeps_no_other_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    processes = [subprocess.Popen(forever, stdin=subprocess.PIPE) for _ in range(2)]
    found = [psutil.Process(each.pid) for each in processes]
    gone, left = processes
    gone.communicate(timeout=10)
    looks = iter([found])
    monkeypatch.setattr(guardian, "marked", lambda _: next(looks, []))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["guardian", "mark"])
    try:
        guardian.main()
        assert left.wait(10) == -9
    finally:
        left.kill()
        left.communicate(timeout=10)


SESSION = """
import subprocess, sys, time
from tests.support.session import guardian

guardian.watch()
forever = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(forever, start_new_session=True, stdout=subprocess.DEVNULL).pid, flush=True)
time.sleep(600)
"""


def test_a_session_that_is_killed_leaves_nothing() -> None:
    root = Path(__file__).parents[2]
    own = {name: word for name, word in os.environ.items() if name != guardian.MARK}
    command = [sys.executable, "-c", SESSION]
    with subprocess.Popen(command, env=own, cwd=root, stdout=subprocess.PIPE) as session:
        assert session.stdout is not None
        left = psutil.Process(int(session.stdout.readline()))
        session.kill()
    try:
        wait_until(lambda: not _lives(left), "what it started has ended")
    finally:
        if _lives(left):
            left.kill()


def _lives(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
