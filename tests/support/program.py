"""The program `towpath` as a process of its own, to be watched, stopped and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.support.json_outputs import require_fits
from tests.support.kafka import wait_until
from tests.support.nursery import Forked, Nursery
from towpath.engine.pythons import PYTHONS

SOURCES = Path(__file__).parents[2] / "src"
TEMPLATE, DAEMON = "towpath.engine.template", "towpath.engine.daemon"
START = 90.0
"""Seconds that Spark may take to start on a busy machine."""


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process that finds Towpath."""
    path = os.pathsep.join(filter(None, (str(SOURCES), os.environ.get("PYTHONPATH"))))
    # Where Spark has run in this process, its Python forks from the template of this process.
    ours = {name: word for name, word in os.environ.items() if name not in PYTHONS}
    return {**ours, "PYTHONPATH": path, "COLUMNS": "200", **(more or {})}


class Program:
    """One start of `towpath`, the leader of its own process group."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        name: str = "run",
        module: str = "towpath",
        nursery: Nursery | None = None,
    ) -> None:
        self._arguments = arguments
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        self._process: subprocess.Popen[bytes] | Forked
        with self.out.open("wb") as out, self.err.open("wb") as err:
            if nursery is not None:
                self._process = nursery.begin([module, *arguments], out, err)
                return
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env=environment(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """Everything that it printed so far."""
        return self.out.read_text(errors="replace") + self.err.read_text(errors="replace")

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def json(self) -> Any:
        """What it printed with `--output json`."""
        return json.loads(self.out.read_text())

    def wait(self, seconds: float = START) -> int:
        """Wait until it ends; return its exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {seconds:.0f} s: {self.said}") from None
        if code >= 0:  # what a signal ended may have printed half of it
            require_fits(self._arguments, self.out.read_text())
        return code

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        self._process.terminate()
        return self.wait(60)

    def send(self, number: int) -> None:
        """Send a signal to it alone."""
        self._process.send_signal(number)

    def interrupt(self) -> int:
        """Do what Ctrl-C in a terminal does: interrupt every process of the group."""
        return self.end_group(signal.SIGINT)

    def end_group(self, number: int) -> int:
        """Send a signal to every process of the group; return the exit code."""
        os.killpg(self._process.pid, number)
        return self.wait(60)

    def kill9(self) -> None:
        """Kill it, and it alone, as a power cut would, and wait until its children are gone too."""
        children = self.children()
        self._process.kill()
        self._process.wait(10)
        wait_until(lambda: not any(map(psutil.Process.is_running, children)), "its children end")

    def jvm(self) -> psutil.Process:
        """Return Spark's JVM."""
        [found] = self.jvms()
        return found

    def jvms(self) -> list[psutil.Process]:
        """Return it, once it has started."""
        return [each for each in self.children() if any("SparkSubmit" in w for w in _words(each))]

    def children(self) -> list[psutil.Process]:
        """Return all processes that it started."""
        return list(psutil.Process(self._process.pid).children(recursive=True))

    def workers(self) -> list[psutil.Process]:
        """Return the Python workers that run tasks."""
        return python_workers(self._process.pid)

    def slices(self) -> list[psutil.Process]:
        """Return the processes that run slices without Spark."""
        return forked_slices(self._process.pid)

    def close(self) -> None:
        """Leave nothing of it behind."""
        if self.running:
            self.kill9()


def forked_slices(pid: int) -> list[psutil.Process]:
    """Return the processes of slices that run without Spark (`engine/forks.py`)."""
    driver = psutil.Process(pid)
    found = []
    for each in driver.children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if each.ppid() != pid and each.cmdline() == driver.cmdline():
                found.append(each)
    return found


def python_workers(pid: int) -> list[psutil.Process]:
    """Return the Python workers below a process: those that a daemon of Spark has forked."""
    found = []
    for each in psutil.Process(pid).children(recursive=True):
        try:
            if _is_worker(each):
                found.append(each)
        except psutil.Error:
            continue  # it has just ended
    return found


def _is_worker(process: psutil.Process) -> bool:
    """Whether a daemon has forked it, which the template has forked, or Spark has started."""
    kind = next((kind for kind in (TEMPLATE, DAEMON) if kind in process.cmdline()), None)
    line = process.parents()[: 2 if kind == TEMPLATE else 1]
    return kind is not None and all(kind in each.cmdline() for each in line)


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []  # it has just ended
