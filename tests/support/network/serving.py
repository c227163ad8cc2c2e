"""Programs of tests that listen on a port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.kafka import PATIENCE, wait_until
from towpath.dev import ports


def serving(
    command: Sequence[str],
    port: int,
    log: Path,
    env: Mapping[str, str] | None = None,
    seconds: float = PATIENCE,
) -> subprocess.Popen[bytes]:
    """Start a program, and return it when it listens. What it said is shown if it does not.

    Args:
        command: The program and its arguments.
        port: The port on which it will listen.
        log: Where what it says is appended.
        env: What it has in its environment besides that of the tests.
        seconds: Time until it must listen.
    """
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            env=os.environ | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def listens() -> bool:
        assert process.poll() is None, f"{log.stem} ended"
        return not ports.is_free(port)

    try:
        wait_until(listens, f"{log.stem} listens", seconds)
    except BaseException:
        sys.stderr.write(f"{log.stem} said: {log.read_text(errors='replace')}\n")
        end(process)
        raise
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a program."""
    process.send_signal(signal.SIGKILL)
    process.wait(10)
