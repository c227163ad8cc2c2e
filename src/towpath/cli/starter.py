"""Processes of our own program that end when the process that started them does.

The starter holds the other end of their standard input, which the kernel closes however it ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

_STDIN = 0
_STARTER = "TOWPATH_STARTER"
"""Variable by which a process knows that it ends when its starter does."""


def started(command: Sequence[str], more: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a program of ours, in a group of its own: a terminal's Ctrl-C comes once.

    Args:
        command: The program, with its arguments.
        more: Further variables.
    """
    return subprocess.Popen(  # noqa: S603  # our own program
        command,
        env={**os.environ, **more, _STARTER: "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
    )


def end_with_starter() -> None:
    """Stop this process in good order as soon as the one that started it has ended."""
    if os.environ.pop(_STARTER, ""):
        threading.Thread(target=_await_starter, name="starter", daemon=True).start()


def _await_starter() -> None:
    # Not through `sys.stdin`, whose lock a process cannot end under that has such a thread.
    while os.read(_STDIN, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
