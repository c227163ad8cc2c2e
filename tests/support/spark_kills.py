"""Kills of parts of a program that works with Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from tests.support.kafka import wait_until
from tests.support.program import Program

VICTIMS = ("driver", "jvm", "worker")


def kill_part(
    program: Program,
    victim: str,
    workers: Callable[[], Sequence[psutil.Process]],
    rng: random.Random,
) -> None:
    """Kill one of `VICTIMS` by -9; without its JVM, the driver ends as well."""
    assert program.running, program.said[-2000:]
    if victim == "driver":
        program.kill9()
    elif victim == "jvm":
        program.jvm().kill()
        wait_until(lambda: not program.running, "the driver ends without its JVM", 60)
    else:
        with suppress(psutil.NoSuchProcess, IndexError):  # a worker may just have ended
            rng.choice(workers()).kill()
