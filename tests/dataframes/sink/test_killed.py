"""A stream with Towpath's sink whose driver, JVM or workers are killed at any moment."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.kafka import Record, consume, create_topic, produce, wait_for, wait_until
from tests.support.program import Program
from tests.support.spark_kills import VICTIMS, kill_part
from towpath.dev.broker import LocalCluster

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark(own=True),
    pytest.mark.soak,
    pytest.mark.timeout(3600),
]
T0 = 1_700_000_000_000
KILLS = 20
EACH = 200
"""Records that are produced before each kill."""
ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 600.0
"""Seconds for what takes a tenth of that on a machine that has nothing else to do."""


def content(cluster: LocalCluster, topic: str) -> Counter[Any]:
    found = consume(cluster.bootstrap, topic, (0, 1))
    return Counter((r.partition, r.key, r.value, r.headers, r.timestamp) for r in found)


def records(first: int, end: int) -> list[Record]:
    return [
        Record(b"k%d" % n, b"v%d" % n, (("h", b"%d" % n),), T0 + n, partition=n % 2)
        for n in range(first, end)
    ]


def pythons(program: Program) -> list[psutil.Process]:
    return [each for each in program.children() if "java" not in each.name()]


def test_each_record_is_written_once_wherever_processes_are_killed(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    rng: random.Random,
) -> None:
    topic = new_name("streamed")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 2)
    words = [source.bootstrap, target.bootstrap, topic, str(tmp_path)]
    paths = [str(ROOT / "src"), str(ROOT)]
    env = {"PYTHONPATH": ":".join(paths), "PYSPARK_PYTHON": sys.executable}

    def start(way: str, name: str) -> Program:
        module = "tests.dataframes.stream_program"
        return Program(tmp_path, *words, way, env=env, name=name, module=module)

    program = start("forever", "run0")
    try:
        for number in range(KILLS):
            produce(source.bootstrap, topic, records(number * EACH, (number + 1) * EACH))
            if not program.running:
                program = start("forever", f"run{number}")
            goal, running = number * EACH + rng.randrange(1, EACH // 2), program

            def moved(goal: int = goal, running: Program = running) -> bool:
                return content(target, topic).total() > goal or not running.running

            wait_until(moved, "records are written", PATIENCE)
            time.sleep(rng.random())
            victim = "driver" if number == KILLS - 1 else rng.choice(VICTIMS)
            # Spark ends a query whose worker does not connect within ten seconds, under load.
            if running.running:
                kill_part(running, victim, partial(pythons, running), rng)
    finally:
        program.close()
    last = start("once", "last")
    assert last.wait(PATIENCE) == 0, last.said
    wait_for(lambda: content(target, topic), content(source, topic), "each record once")
    assert content(target, topic).total() == KILLS * EACH
