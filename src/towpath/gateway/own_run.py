"""A run of a link that a command starts for itself, in a process of its own.

It is what `towpath run` does, on this machine. It ends with the command, also where that is killed,
and the ledger lets it copy only if no other run of the link lives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from towpath.cli.signals import KILLED
from towpath.cli.starter import started
from towpath.model.foreign import printed
from towpath.model.reasons import Reason, ReasonCode

_PATIENCE = 60.0
"""Seconds for a run to stop: its slices finish what they have begun."""
_LINES = 3
"""Last lines of what it said that are told where it ended without a document."""


def run_command(file: Path) -> list[str]:
    """Return the command that runs a link."""
    return [sys.executable, "-m", "towpath", "run", str(file), "--output", "json"]


class OwnRun:
    """A process that runs a link, begun and ended as a context.

    Args:
        command: The program, with its arguments; it prints one JSON document at its end.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._began = self._ended = time.monotonic()
        self._out, self._err = list[str](), deque[str](maxlen=_LINES)
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        process = self._process = started(self._command, {})
        assert process.stdout  # noqa: S101, both are pipes
        assert process.stderr  # noqa: S101
        for pipe, lines in ((process.stdout, self._out), (process.stderr, self._err)):
            thread = threading.Thread(target=_keep, args=(pipe, lines), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None  # noqa: S101  # it was begun
        with suppress(subprocess.TimeoutExpired):
            if self._process.poll() is None:
                self._process.terminate()
            self._process.wait(_PATIENCE)
        if self._process.poll() is None:
            self._process.kill()  # what it may still write, the next run of the link finds
        self._read()
        self._ended = time.monotonic()
        with suppress(OSError):
            assert self._process.stdin  # noqa: S101, a pipe
            self._process.stdin.close()

    @property
    def exit_code(self) -> int | None:
        """Its exit code, `None` while it goes on."""
        found = self._process.poll() if self._process is not None else None
        return KILLED - found if found is not None and found < 0 else found

    @property
    def seconds(self) -> float:
        """For how long it went on, once it has ended."""
        return round(self._ended - self._began, 1)

    def why_ended(self) -> Reason:
        """Return why it has ended by itself, as it told."""
        self._read()
        told: Reason | str = " ".join(line.strip() for line in self._err) or "it said nothing"
        with suppress(ValueError, KeyError, TypeError):
            error = json.loads("".join(self._out))["error"]
            told = Reason.of(ReasonCode.ERROR, error=str(error["code"]), text=str(error["text"]))
        said = told if isinstance(told, Reason) else printed(told)
        return Reason.of(
            ReasonCode.PROMOTE_RUN, what=f"ended with exit code {self.exit_code}", why=said
        )

    def _read(self) -> None:
        """Wait until all that it said is read, and it has ended."""
        assert self._process is not None  # noqa: S101  # it was begun
        self._process.wait()
        for thread in self._threads:
            thread.join()


def _keep(pipe: IO[str], lines: list[str] | deque[str]) -> None:
    with pipe:
        lines.extend(pipe)
