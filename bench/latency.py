"""How old records are when a consumer of the target gets them, at steady rates.

A producer and a consumer run beside the copier on the same processors, so what they use is told
too; a consumer directly on the source shows what is theirs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import IO, Any

from bench.arena import Arena
from bench.copiers import Copier
from bench.meter import Stamp

PARTITIONS = 8
SETTLE = 4.0
"""Seconds of each window at its start that do not count."""


@dataclass(frozen=True, slots=True)
class Load:
    """Records per second, and how the producer makes batches of them."""

    rate: int
    linger_ms: float
    batch: int
    partitions: int = PARTITIONS

    def __str__(self) -> str:
        kind = "batches of 1 or 2" if self.batch == 2 else "natural batches"
        return f"{self.rate:,}/s, {kind}"


NATURAL = Load(1000, 5, 10_000)
LOADS = (NATURAL, Load(1000, 0, 2), Load(10_000, 0, 2), Load(20_000, 0, 2))
TRICKLE = Load(100, 0, 2, partitions=100)
"""Into the first of 1,000 partitions, since a consumer of all would be the heaviest of all."""


def window(
    arena: Arena,
    copier: Copier | None,
    topic: str,
    load: Load,
    seconds: float,
    settle: float = SETTLE,
    *,
    beside: bool = False,
) -> dict[str, Any]:
    """Produce to the source for a while and return how old the records arrived.

    Args:
        arena: The clusters.
        copier: Who copies; nobody means a consumer of the source.
        topic: Of the source.
        load: What is produced.
        seconds: Length of the window.
        settle: Seconds before it, which do not count.
        beside: Whether the same records are also consumed directly from the source (`source`).
    """
    direct = (arena.source.bootstrap, topic)
    where = [direct if copier is None else (arena.target.bootstrap, copier.copy_of(topic))]
    where += [direct] * beside
    shared = [f"--partitions={load.partitions}"]
    length = settle + seconds + 2.0
    span = [f"--settle={settle}", f"--seconds={seconds}"]
    with ExitStack() as stack:
        consumers = [
            stack.enter_context(_started("bench.arriving", [*each, *shared, *span]))
            for each in where
        ]
        for consumer, (_, name) in zip(consumers, where, strict=True):
            if _output(consumer).readline().strip() != "ready":
                raise RuntimeError(f"the consumer of {name} did not get ready")
        before = Stamp.now(copier.watch if copier else None, *arena.pids)
        producing = [f"--rate={load.rate}", f"--seconds={length}", f"--linger={load.linger_ms}"]
        producer = stack.enter_context(
            _started("bench.stamping", [*direct, *shared, *producing, f"--batch={load.batch}"])
        )
        sent = json.loads(producer.communicate(timeout=length + 60)[0])
        spent = Stamp.now(copier.watch if copier else None, *arena.pids).since(before)
        figures, *source = [
            json.loads(each.communicate(timeout=120)[0] or "{}") for each in consumers
        ]
    return {
        "load": str(load), **asdict(load), **figures, **({"source": source[0]} if source else {}),
        "sent": sent, "cpu": spent, "loadavg": round(os.getloadavg()[0], 2),
    }  # fmt: skip


@contextmanager
def _started(module: str, arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = _start(module, arguments)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _start(module: str, arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _output(process: subprocess.Popen[str]) -> IO[str]:
    if process.stdout is None:
        raise RuntimeError("the output was not kept")
    return process.stdout
