"""CPU seconds and memory of process trees, and what machine this is."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from towpath.dev import java
from towpath.dev.distribution import NEWEST

MIB = 1 << 20
GIB = 1 << 30


def tree(pid: int) -> list[Any]:
    """Return a process and everything below it that lives now."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process tree so far, with those of children that ended.

    The kernel adds the time of a child that ended to its parent, so nothing is lost or counted
    twice.
    """
    total = 0.0
    for process in tree(pid):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def machine_busy() -> float:
    """Return the CPU seconds that all processors of the machine have worked since it started."""
    times = psutil.cpu_times()
    idle = sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "steal"))
    return float(sum(times[:8]) - idle)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The clocks at one moment: time, CPU of a copier, of both brokers, of us, of the machine."""

    at: float
    copier: float
    source: float
    target: float
    own: float
    machine: float

    @classmethod
    def now(cls, copier: int | None, source: int, target: int) -> Stamp:
        """Read all clocks; without a copier, what it would use is 0."""
        return cls(
            time.monotonic(),
            cpu(copier) if copier else 0.0,
            cpu(source),
            cpu(target),
            sum(psutil.Process().cpu_times()[:2]),
            machine_busy(),
        )

    def since(self, before: Stamp) -> dict[str, float]:
        """Return the differences; `others` is what processes used that are none of ours."""
        known = ("copier", "source", "target", "own")
        spent = {name: getattr(self, name) - getattr(before, name) for name in known}
        others = self.machine - before.machine - sum(spent.values())
        figures = {"seconds": self.at - before.at, **spent, "others": max(0.0, others)}
        return {name: round(value, 3) for name, value in figures.items()}


class Memory:
    """Watches the peak memory of every process of a tree, in a thread, until it is left."""

    def __init__(self, pid: int, every: float = 1.0) -> None:
        self._pid, self._every = pid, every
        self._peaks: dict[tuple[str, int], int] = {}
        self.peaks: dict[str, list[int]] = {}
        """The peaks in MiB by role, the largest first; known when the watch is over."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="bench-memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        for (role, _), size in sorted(self._peaks.items(), key=lambda item: -item[1]):
            self.peaks.setdefault(role, []).append(round(size / MIB))

    def _watch(self) -> None:
        self._look()
        while not self._over.wait(self._every):
            self._look()

    def _look(self) -> None:
        for process in tree(self._pid):
            try:
                key = (_role(process, self._pid), process.pid)
                self._peaks[key] = max(self._peaks.get(key, 0), _peak(process))
            except (psutil.Error, OSError):
                continue


def _role(process: Any, root: int) -> str:
    words = process.cmdline()
    if words and Path(words[0]).name == "java":
        return "JVM"
    if process.pid == root:
        return "driver"
    if "pyspark.daemon" in words:
        below = process.parent()
        return "worker" if below and "pyspark.daemon" in below.cmdline() else "worker daemon"
    return "other"


def _peak(process: Any) -> int:
    """Return the largest resident size that the kernel remembers, else the present one."""
    try:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except FileNotFoundError:
        pass
    return int(process.memory_info().rss)


def machine() -> dict[str, str]:
    """Describe the machine and the software, without any name of the machine."""
    return {
        "cores": str(os.cpu_count()),
        "cpu": next(_cpu_names(), platform.processor() or platform.machine()),
        "memory": f"{psutil.virtual_memory().total / GIB:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": _java(),
        "kafka": NEWEST,
        "spark": version("pyspark"),
        "load at start": ", ".join(f"{each:.2f}" for each in os.getloadavg()),
    }


def _cpu_names() -> Iterator[str]:
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else ():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            yield value.strip()


def _java() -> str:
    answer = subprocess.run(
        [str(java.find()), "-version"], capture_output=True, text=True, check=True
    )
    lines = (answer.stdout + answer.stderr).splitlines()
    return next((line for line in lines if " version " in line), "unknown")
