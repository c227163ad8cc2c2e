"""Samples of memory, CPU, lag and records, every ten seconds of a soak."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from bench.meter import MIB, role_of, tree
from bench.soaking.slope import Segment

EVERY = 10.0
ROLES = ("driver", "JVM", "template", "worker daemon", "worker")


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one moment.

    Attributes:
        at: Seconds since the load began.
        life: Number of the run.
        memory: MiB of resident memory by process (pid), by role.
        brokers: MiB of resident memory by side.
        cpu: CPU seconds so far by role and by side, and of the soak itself.
        lag: Source offsets that the target lacks, `None` if unknown.
        records: Records that producers know to be at the source.
        load: The machine's load.
    """

    at: float
    life: int
    memory: Mapping[str, Mapping[int, float]]
    brokers: Mapping[str, float]
    cpu: Mapping[str, float]
    lag: int | None
    records: int
    load: float

    def total(self, role: str) -> float:
        """Return the memory of a role in MiB."""
        return sum(self.memory.get(role, {}).values())


def memory_of(root: int | None) -> dict[str, dict[int, float]]:
    """Return the resident MiB of each process below a root and of itself, by role and pid."""
    found: dict[str, dict[int, float]] = {}
    for process in [] if root is None else tree(root):
        try:
            role, size = role_of(process, root or 0), process.memory_info().rss / MIB
        except (psutil.Error, OSError):
            continue  # it has just ended
        if role:
            found.setdefault(role, {})[process.pid] = round(size, 1)
    return found


def resident(pids: Iterable[int]) -> float:
    """Return the resident MiB of processes; one that is away has none."""
    sizes = []
    for pid in pids:
        try:
            sizes.append(psutil.Process(pid).memory_info().rss / MIB)
        except psutil.Error:
            continue
    return float(round(sum(sizes), 1))


def segments(samples: Sequence[Sample], role: str, warm: float) -> list[Segment]:
    """Return the samples of a role, cut wherever one of its processes came or went.

    Args:
        samples: All of them, in order.
        role: The role.
        warm: Seconds of a life that do not count, as everything is loaded then: of the run's, and
            of the youngest of the processes.
    """
    found: list[list[tuple[float, float]]] = []
    known: tuple[int, frozenset[int]] | None = None
    started: dict[tuple[int, int], float] = {}
    for sample in samples:
        who = sample.life, frozenset(sample.memory.get(role, {}))
        born = [started.setdefault((sample.life, pid), sample.at) for pid in (0, *who[1])]
        if sample.at - max(born) < warm or not who[1]:
            continue
        if who != known:
            found.append([])
        known = who
        found[-1].append((sample.at, sample.total(role)))
    return list(found)


def rows(samples: Iterable[Sample]) -> list[str]:
    """Return samples as lines of comma-separated values, the first of which names them."""
    sides = ("source", "target")
    head = ["seconds", "start", *(f"{role} MiB" for role in ROLES), *(f"{s} MiB" for s in sides)]
    lines = [",".join((*head, "lag", "records", "load"))]
    for each in samples:
        sizes = [each.total(role) for role in ROLES] + [each.brokers[side] for side in sides]
        lag = "" if each.lag is None else str(each.lag)
        numbers = [f"{each.at:.0f}", str(each.life), *(f"{size:.0f}" for size in sizes)]
        lines.append(",".join((*numbers, lag, str(each.records), f"{each.load:.1f}")))
    return lines


class CpuClock:
    """CPU seconds of processes that come and go, as far as they were seen.

    Args:
        roots: Returns the pids that count, by name.
    """

    def __init__(self, roots: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._roots = roots
        self._seen: dict[tuple[str, int, float], float] = {}

    def look(self) -> dict[str, float]:
        """Return the seconds by name up to now."""
        for name, pids in self._roots().items():
            for pid in pids:
                try:
                    process = psutil.Process(pid)
                    spent = sum(process.cpu_times()[:2])
                    self._seen[name, pid, process.create_time()] = spent
                except psutil.Error:
                    continue
        found: dict[str, float] = {"soak": sum(psutil.Process(os.getpid()).cpu_times()[:2])}
        for (name, _, _), spent in self._seen.items():
            found[name] = round(found.get(name, 0.0) + spent, 2)
        return found
