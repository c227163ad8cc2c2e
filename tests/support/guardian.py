"""Leave no process behind, even when the test session itself is killed.

Every process of a session inherits a mark in its environment. A guardian waits on a pipe that
closes when the session ends, however it ends, and kills what still carries the mark.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from contextlib import suppress

import psutil

MARK = "TOWPATH_TEST_SESSION"

ENDS_WITH_US = (
    "org.apache.spark.deploy.SparkSubmit",
    "pyspark.daemon",
    "resource_tracker",
    "multiprocessing.forkserver",
)
"""Processes that end by themselves once their parent has: no leak while it lives."""


def mark_session() -> str:
    """Mark this process, and so all its children to come; return the mark."""
    return os.environ.setdefault(MARK, uuid.uuid4().hex)


def watch() -> subprocess.Popen[bytes]:
    """Start the guardian of this session; it ends when its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.guardian", mark_session()],
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
    """Wait until the session is over, then end what it left."""
    sys.stdin.read()
    for process in marked(sys.argv[1]):
        with suppress(psutil.Error):  # it has just ended
            process.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    main()
