"""Leave no process behind, even when the test session itself is killed.

Every process of a session inherits a mark in its environment. A guardian waits on a pipe that
closes when the session ends, however it ends, and kills what still carries the mark. The process
that somebody started has both, not the workers of pytest-xdist that it starts itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

MARK = "TOWPATH_TEST_SESSION"

ENDS_WITH_US = (
    "org.apache.spark.deploy.SparkSubmit",
    "towpath.engine.daemon",
    "towpath.engine.template",
    "resource_tracker",
    "multiprocessing.forkserver",
)
"""Processes that end by themselves once their parent has: no leak while it lives."""


class Guard:
    """A plugin that ends the shared clusters, and fails the session when anything else outlives it.

    Args:
        home: Whatever runs with a path below it on its command line is a shared cluster.
    """

    def __init__(self, home: Path) -> None:
        self._home = str(home)
        self._mark = mark_session()
        self._watcher = watch()
        self._left: list[str] = []
        self._seconds = 0.0

    # Within the summary, and around the end of the workers and of all fixtures.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Look what is left, also behind a fixture that failed."""
        try:
            yield
        finally:
            self._end(session)

    def _end(self, session: pytest.Session) -> None:
        for each in marked(self._mark):
            if any(self._home in word for word in _command(each)):
                with suppress(psutil.Error):
                    self._seconds += sum(each.cpu_times()[:2])
                _kill(each)
        end = time.monotonic() + 10
        while (left := left_behind(self._mark, self._watcher.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self._left, session.exitstatus = left, pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what the shared clusters took, and name what is left."""
        terminalreporter.write_line(f"shared clusters: {self._seconds:.0f} CPU s")
        if self._left:
            terminalreporter.section("processes that the tests left behind", red=True)
            terminalreporter.write_line("\n".join(self._left))

    def pytest_unconfigure(self) -> None:
        """Close the pipe of the guardian, which kills what is left."""
        self._watcher.communicate(timeout=10)


def mark_session() -> str:
    """Mark this process, and so all its children to come; return the mark."""
    return os.environ.setdefault(MARK, uuid.uuid4().hex)


def watch() -> subprocess.Popen[bytes]:
    """Start the guardian of this session; it ends when its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.session.guardian", mark_session()],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def marked(mark: str) -> list[psutil.Process]:
    """Return the processes that carry the mark, without this one."""
    return [each for each in psutil.process_iter() if each.pid != os.getpid() and _has(each, mark)]


def left_behind(mark: str, guardian: int) -> list[str]:
    """Return the command lines of what a session should have stopped."""
    lines = {each.pid: " ".join(_command(each)) for each in marked(mark)}
    lines.pop(guardian, None)
    return [
        f"{pid}: {line[:300]}"
        for pid, line in lines.items()
        if line and not any(word in line for word in ENDS_WITH_US)
    ]


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return bool(process.environ().get(MARK) == mark)
    except (psutil.Error, OSError):
        return False  # not ours to see, or just gone


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except (psutil.Error, OSError):
        return []


def main() -> None:
    """Wait until the session is over, then end what it left, and what that starts meanwhile."""
    sys.stdin.read()
    end = time.monotonic() + 10
    while (left := marked(sys.argv[1])) and time.monotonic() < end:
        for process in left:
            _kill(process)
        time.sleep(0.02)


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):  # it has just ended
        process.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    main()
