"""`towpath run` as a process with its own Spark: killed, stopped, started twice, fed anew."""

from __future__ import annotations

import json
import random
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException

from tests.spark.conftest import Link, end
from tests.support.chaos import PARTITIONS, PLAIN, TRANSACTIONAL, Writer
from tests.support.kafka import Record, create_topic, grow, produce, wait_until
from tests.support.program import Program

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]
ON_TWO = ("--master", "local[2]")


def some(partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(100)]


def test_a_run_goes_on_until_stopped(link: Link, tmp_path: Path) -> None:
    boot, topic, later = link.source.bootstrap, f"{link.name}.first", f"{link.name}.later"
    report = tmp_path / "report.json"
    create_topic(boot, topic, 1)
    produce(boot, topic, some())
    run = link.start("run", *ON_TWO, "--report", str(report))
    link.wait_for(run, topic, seconds=90)
    _second_start_is_refused(link)
    create_topic(boot, later, 2)
    produce(boot, later, some(1))
    link.wait_for(run, later, 1)
    grow(boot, topic, 3)
    wait_until(lambda: _can_produce(boot, topic, 2), "the new partition has a leader")
    link.wait_for(run, topic, 2)
    _kill_a_worker(run)
    produce(boot, topic, some() + some(2))
    produce(boot, later, some() + some(1))
    for copied, partition in ((topic, 0), (topic, 2), (later, 0), (later, 1)):
        link.wait_for(run, copied, partition)
    assert run.stop() == 0, run.said
    assert "stopped after" in run.said
    told = json.loads(report.read_text())
    assert (told["link"], told["stopped"], told["complete"]) == (link.name, True, True)
    assert (told["records"], told["lag"], told["left_out"]) == (700, 0, [])
    assert {row["state"] for row in told["partitions"]} == {"caught up"}
    assert link.assert_same(topic, 3) == 400
    assert link.assert_same(later, 2) == 300
    status = link.start("status", "--output", "json")
    assert status.wait() == 0, status.said
    assert status.json["partitions"] == told["partitions"]


def _second_start_is_refused(link: Link) -> None:
    second = link.start("run", *ON_TWO)
    assert second.wait() == 4, second.said
    assert f"link {link.name} is already running" in second.said
    assert "stop that run first, or give this one another `link` name" in second.said


def _can_produce(boot: str, topic: str, partition: int) -> bool:
    try:
        produce(boot, topic, some(partition))
    except KafkaException:
        return False
    return True


def _kill_a_worker(run: Program) -> None:
    wait_until(lambda: bool(run.workers()), "a worker runs")
    for worker in run.workers():
        try:
            worker.kill()
        except psutil.NoSuchProcess:
            continue  # it has just ended


def test_every_slice_runs_where_more_are_wished_than_there_are_cores(link: Link) -> None:
    first = _copying_five(link)
    assert first.stop() == 0, first.said
    second = _copying_five(link, *ON_TWO)
    second.jvm().kill()
    assert second.wait() == 1, second.said
    assert "Spark's JVM ended all at once (killed, or out of memory:" in second.said
    assert link.assert_same(f"{link.name}.many", 5) == 1000


def _copying_five(link: Link, *where: str) -> Program:
    """Start a run with five slices; return it when each has copied something."""
    topic = f"{link.name}.many"
    if end(link.source, topic) < 0:
        create_topic(link.source.bootstrap, topic, 5)
    run = link.start("run", "--parallelism", "5", *where)
    for partition in range(5):
        produce(link.source.bootstrap, topic, some(partition))
        link.wait_for(run, topic, partition, 120)
    return run


def test_a_killed_driver_and_ctrl_c(link: Link, rng: random.Random) -> None:
    boot = link.source.bootstrap
    topics = {kind: f"{link.name}.{kind}" for kind in (PLAIN, TRANSACTIONAL)}
    for topic in topics.values():
        create_topic(boot, topic, PARTITIONS)
    writers = [
        Writer(boot, topic, kind, random.Random(rng.random()), 0.05)
        for kind, topic in topics.items()
    ]
    try:
        run = link.start("run", *ON_TWO)
        _goes_on(link, run, topics[PLAIN], 0)
        run.kill9()
        run = link.start("run", *ON_TWO)
        _goes_on(link, run, topics[PLAIN], end(link.target, topics[PLAIN]))
        assert run.interrupt() == 0, run.said
    finally:
        for writer in writers:
            writer.stop()
    run = link.start("run", *ON_TWO, "--until-caught-up", "--output", "json")
    assert run.wait() == 0, run.said
    assert (run.json["complete"], run.json["stopped"], run.json["lag"]) == (True, False, 0)
    for topic in topics.values():
        assert link.assert_same(topic, PARTITIONS) > 0


def _goes_on(link: Link, run: Program, topic: str, behind: int) -> None:
    """Wait until the run has copied something."""

    def is_further() -> bool:
        assert run.running, run.said
        return end(link.target, topic) > behind

    wait_until(is_further, "the run copies", 90)
