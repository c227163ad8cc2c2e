"""Profiles of a run: CPU by py-spy, memory by Python's tracemalloc, the heap by malloc itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.program import SOURCES

CPU, MEMORY, HEAP = "cpu", "memory", "heap"
HOOKS = Path(__file__).parent / "hooks"
FOLDERS = {MEMORY: "TOWPATH_SOAK_MEMORY", HEAP: "TOWPATH_SOAK_HEAP"}
_RATE = "20"


class Profiles:
    """The profiles of all starts of a run.

    Args:
        kind: `cpu`, `memory`, `heap`, or "" for none.
        folder: Where they go; made if there are some.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._recording: subprocess.Popen[bytes] | None = None
        self._life = 0
        if kind == CPU and shutil.which("py-spy") is None:
            raise SystemExit("--profile cpu needs py-spy: pip install py-spy")
        if kind:
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def env(self) -> Mapping[str, str]:
        """What the run has in its environment for it."""
        if self._kind not in FOLDERS:
            return {}
        paths = (str(HOOKS), str(SOURCES), os.environ.get("PYTHONPATH", ""))
        return {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            FOLDERS[self._kind]: str(self._folder),
        }

    def follow(self, life: int, pid: int | None) -> None:
        """Profile a start of the run, if that is not done already."""
        if self._kind != CPU or life == self._life or pid is None:
            return
        self.stop()
        self._life = life
        file = self._folder / f"cpu-start-{life}.svg"
        with (self._folder / f"cpu-start-{life}.log").open("wb") as log:
            self._recording = subprocess.Popen(
                ["py-spy", "record", "--pid", str(pid), "--subprocesses", "--nonblocking",
                 "--rate", _RATE, "--duration", "unlimited", "--output", str(file)],
                stdout=log, stderr=log,
            )  # fmt: skip

    def stop(self) -> None:
        """Let what is recorded be written."""
        if self._recording is not None:
            self._recording.send_signal(signal.SIGINT)
            try:
                self._recording.wait(120)
            except subprocess.TimeoutExpired:
                self._recording.kill()
                self._recording.wait()
            self._recording = None
