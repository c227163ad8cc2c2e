"""CPU seconds and memory of process trees, and what machine this is."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from towpath.dev.distribution import NEWEST
from towpath.engine import java

_TEMPLATE = "towpath.engine.template"
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
    """Return the CPU seconds of one process so far."""
    return float(sum(psutil.Process(pid).cpu_times()[:2]))


def machine_busy() -> float:
    """Return the CPU seconds that all processors of the machine have worked since it started."""
    times = psutil.cpu_times()
    idle = sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "steal"))
    return float(sum(times[:8]) - idle)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The clocks at one moment: time, CPU of a copier, of all brokers, of us, of the machine."""

    at: float
    copier: float
    source: float
    target: float
    own: float
    machine: float

    @classmethod
    def now(cls, copier: Watch | None, source: Sequence[int], target: Sequence[int]) -> Stamp:
        """Read all clocks; without a copier, what it would use is 0."""
        of_copier = copier.cpu() if copier else 0.0
        own = cpu(os.getpid())
        of_source, of_target = sum(map(cpu, source)), sum(map(cpu, target))
        return cls(time.monotonic(), of_copier, of_source, of_target, own, machine_busy())

    def since(self, before: Stamp) -> dict[str, float]:
        """Return the differences; `others` is what processes used that are none of ours."""
        known = ("copier", "source", "target", "own")
        spent = {name: getattr(self, name) - getattr(before, name) for name in known}
        others = self.machine - before.machine - sum(spent.values())
        figures = {"seconds": self.at - before.at, **spent, "others": max(0.0, others)}
        return {name: round(value, 3) for name, value in figures.items()}


@dataclass(slots=True)
class _Seen:
    """What is remembered of a process: who it is, and what it had used when last looked at."""

    role: str
    parent: int
    alive: bool = True
    own: float = 0.0
    of_children: float = 0.0
    peak: int = 0


class Watch:
    """Watches the CPU and the peak memory of a process tree, in a thread, until it is left.

    The kernel adds the time of a child that ended to its parent, unless the parent ignores the
    ends of its children, as Spark's daemon of Python workers does. So what each process had used
    is remembered beyond its end.
    """

    def __init__(self, pid: int, every: float = 1.0) -> None:
        self._pid, self._every = pid, every
        self._seen: dict[tuple[int, float], _Seen] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="bench-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; what was seen stays."""
        self._over.set()
        self._thread.join()

    def cpu(self) -> float:
        """Return the CPU seconds of all processes so far, also of those that ended."""
        with self._lock:
            self._look()
            ended: dict[int, float] = {}
            for seen in self._seen.values():
                if not seen.alive:
                    # Its parent's count has what its own children used, too.
                    used = seen.own + seen.of_children
                    ended[seen.parent] = ended.get(seen.parent, 0.0) + used
            total = sum(seen.own for seen in self._seen.values())
            for (pid, _), seen in self._seen.items():
                # Children too short-lived to be seen, if the kernel counts them here.
                total += max(0.0, seen.of_children - ended.get(pid, 0.0))
            return total

    def cpu_by_role(self) -> dict[str, float]:
        """Return the CPU seconds of processes that were seen, by role."""
        found: dict[str, float] = {}
        with self._lock:
            self._look()
            for seen in self._seen.values():
                found[seen.role] = found.get(seen.role, 0.0) + seen.own
        return found

    def peaks(self) -> dict[str, list[int]]:
        """Return the peaks in MiB by role, the largest first."""
        found: dict[str, list[int]] = {}
        with self._lock:
            for seen in sorted(self._seen.values(), key=lambda seen: -seen.peak):
                # A process that was caught while it started has nothing yet.
                if seen.peak >= 16 * MIB:
                    found.setdefault(seen.role, []).append(round(seen.peak / MIB))
        return found

    def _watch(self) -> None:
        while True:
            with self._lock:
                self._look()
            if self._over.wait(self._every):
                return

    def _look(self) -> None:
        alive = set()
        for process in tree(self._pid):
            try:
                key = (process.pid, process.create_time())
                seen = self._seen.get(key) or _Seen("", process.ppid())
                times = process.cpu_times()
                seen.own, seen.of_children = sum(times[:2]), sum(times[2:4])
                seen.peak = max(seen.peak, _peak(process))
                # A process that was just forked has the command of its parent.
                seen.role = role_of(process, self._pid) or seen.role
            except (psutil.Error, OSError):
                continue
            self._seen[key] = seen
            alive.add(key)
        for key, seen in self._seen.items():
            seen.alive = key in alive


def role_of(process: Any, root: int) -> str:
    """Return what a process below `root` is, "" if it has ended."""
    words = process.cmdline()
    if not words:
        return ""  # it has ended
    if Path(words[0]).name == "java":
        return "JVM"
    if process.pid == root:
        return "driver"
    if words == psutil.Process(root).cmdline():  # a fork of the driver
        return "forker" if process.ppid() == root else "worker"
    if _TEMPLATE in words:
        forks = sum(_TEMPLATE in each.cmdline() for each in process.parents())
        return ("template", "worker daemon", "worker")[min(forks, 2)]
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
