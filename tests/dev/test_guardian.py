"""What a session leaves behind when it is killed is ended by its guardian."""

from __future__ import annotations

import io
import subprocess
import sys

import psutil
import pytest

from tests.support import guardian


def test_one_that_has_just_ended_keeps_no_other_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    processes = [subprocess.Popen(forever, stdin=subprocess.PIPE) for _ in range(2)]
    found = [psutil.Process(each.pid) for each in processes]
    gone, left = processes
    gone.communicate(timeout=10)
    monkeypatch.setattr(guardian, "marked", lambda _: found)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["guardian", "mark"])
    try:
        guardian.main()
        assert left.wait(10) == -9
    finally:
        left.kill()
        left.communicate(timeout=10)
