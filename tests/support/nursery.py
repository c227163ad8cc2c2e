"""Programs forked from a process that has imported what they need.

To import it takes a CPU second or more for each start, which is most of what a start takes. On a
machine that has little time to give, tests that start a program again and again wait for that.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from pydantic import ValidationError

from towpath.settings import LinkConfig

_NUMBER = struct.Struct("=i")
_ENOUGH = 1 << 16
_NEEDED = (
    "tests.support.archive.steps",
    "towpath.cli.main",
    "towpath.engine.here",
    "towpath.gateway.commands",
    "towpath.gateway.promote_commands",
    "towpath.gateway.promotion.promotion_thread",
    "towpath.mirror.run.round_planner",
    "towpath.mirror.run.run",
    "towpath.mirror.run.slices",
)


class Nursery:
    """Starts programs.

    Args:
        env: The environment of all of them.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-m", "tests.support.nursery", str(number)]
            self._server = subprocess.Popen(
                command, pass_fds=[number], env=env, stdin=subprocess.DEVNULL
            )

    def begin(self, arguments: Sequence[str], out: BinaryIO, err: BinaryIO) -> Forked:
        """Start `python -m` with arguments, as the leader of its own process group."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            files = [theirs.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(self._ours, [json.dumps(arguments).encode()], files)
        return Forked(ours)

    def close(self) -> None:
        """End; programs that run go on."""
        self._ours.close()
        self._server.wait(60)


class Forked:
    """A program, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, told: socket.socket) -> None:
        self._told = told
        (self.pid,) = _NUMBER.unpack(told.recv(_NUMBER.size))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code once it has ended."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, seconds: float | None = None) -> int:
        """Wait for its end; return its exit code."""
        if self.returncode is None:
            self._told.settimeout(seconds)
            try:
                told = self._told.recv(_NUMBER.size)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a program", seconds or 0) from None
            (self.returncode,) = _NUMBER.unpack(told)
            self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def main() -> None:
    """Fork programs as they are asked for at a socket, until that is closed."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    for each in _NEEDED:
        import_module(each)
    with suppress(ValidationError):  # what reads files is made when the first one is read
        LinkConfig.model_validate({})
    gc.collect()
    gc.freeze()
    # Those who wait for programs end by themselves, and nobody waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        about, files, _, _ = socket.recv_fds(asked, _ENOUGH, 3)
        if not about:
            return
        if os.fork() == 0:
            asked.close()
            _wait_for(files)
            _become(json.loads(about), files)
            return
        for file in files:
            os.close(file)


def _wait_for(files: Sequence[int]) -> None:
    """Return in a new process; this one tells its number and how it ends, and ends, too."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        return
    os.setsid()
    for each in (*range(3), *files[1:]):
        os.close(each)
    told = socket.socket(fileno=files[0])
    with suppress(BrokenPipeError):
        told.send(_NUMBER.pack(pid))
        _, state = os.waitpid(pid, 0)
        told.send(_NUMBER.pack(os.waitstatus_to_exitcode(state)))
    os._exit(0)


def _become(arguments: Sequence[str], files: Sequence[int]) -> None:
    """Go on as a program of its own."""
    os.setsid()
    for number, file in enumerate(files[1:], 1):
        os.dup2(file, number)
    for each in files:
        os.close(each)
    sys.argv = [*arguments]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
