"""A process that is measured, with all that it starts, while it is entered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import psutil

from bench.meter import Watch, tree
from towpath.dev.process import JavaProcess


class WatchedProcess:
    """A process whose CPU and memory are watched from its start to its end.

    Args:
        folder: Where its files go; made if it is not there.
        out: Name of the file in it that gets what the process prints.
    """

    def __init__(self, folder: Path, out: str) -> None:
        self._folder, self._out = folder, out
        self._process: JavaProcess | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = JavaProcess(self._command(), self._folder / self._out)
        self._watch = Watch(self.pid)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.stop()
        below = tree(self.pid)
        self._started.stop(patience=60.0)
        _, left = psutil.wait_procs(below, timeout=5)
        for process in left:
            process.kill()

    @property
    def pid(self) -> int:
        """Its process; the others are below it."""
        return self._started.identity.pid

    @property
    def watch(self) -> Watch:
        """What its processes use."""
        assert self._watch is not None  # noqa: S101 - told to the type checker only
        return self._watch

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._started.running

    @property
    def log_end(self) -> str:
        """The end of what it printed."""
        return self._started.log_end()

    @property
    def _started(self) -> JavaProcess:
        assert self._process is not None  # noqa: S101 - told to the type checker only
        return self._process

    def _command(self) -> Sequence[str]:
        """Return the command that starts it."""
        raise NotImplementedError
