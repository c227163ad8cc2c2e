"""Programs that drivers run on this machine: ssh, kubectl, the formatting tool."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from towpath.model.foreign import printed


class ChildLateError(Exception):
    """A program did not end in time, and was killed.

    Args:
        program: Its name.
        seconds: How long it was waited for.
    """

    def __init__(self, program: str, seconds: float) -> None:
        super().__init__(f"{program} did not end within {round(seconds, 1):g} s")


def run_child(
    command: Sequence[str], data: bytes = b"", *, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a session of its own until it ends, and return its output.

    So Ctrl-C in our terminal does not end it in the middle of a step. One that is late is killed
    with all that it has started, such as the proxy of ssh or the login plugin of kubectl: that
    would keep its output open for ever.

    Args:
        command: The program and its arguments.
        data: Its input.
        seconds: How long it may take.

    Raises:
        ChildLateError: It was late.
        OSError: It cannot be run.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603, no shell
        command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as child:
        try:
            out, err = child.communicate(data, timeout=max(0.0, seconds))
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ChildLateError(command[0], seconds) from None
            raise
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def printable(output: bytes) -> str:
    """Decode a program's output, safe to print."""
    return printed(output.decode(errors="replace")).strip()
