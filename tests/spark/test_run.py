"""`towpath run` as a process with its own Spark: killed, stopped, started again, fed anew."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import psutil
import pytest
from confluent_kafka import KafkaException

from tests.support.copying.chaos import PARTITIONS, PLAIN, TRANSACTIONAL, Writer
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    create_topic,
    grow,
    produce,
    set_config,
    topic_config,
    wait_until,
)
from tests.support.links import Link, end
from tests.support.pages.queries import assert_served
from tests.support.pages.scrape import Scrape
from tests.support.program import Program
from towpath.dev import ports
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
ON_TWO = ("--master", "local[2]")
SLICES = min((os.cpu_count() or 1) + 1, 5)


def some(partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(100)]


@pytest.mark.spark(own=True)
def test_a_run_goes_on_until_ctrl_c(link: Link, tmp_path: Path, here: Here) -> None:
    boot, topic, later = link.source.bootstrap, f"{link.name}.first", f"{link.name}.later"
    report = tmp_path / "report.json"
    create_topic(boot, topic, 1)
    produce(boot, topic, some())
    link.listen = metrics = f"127.0.0.1:{ports.reserve(1)[0]}"
    link.run, link.timeout = "{discover: 500ms, sync_interval: 1s}", "10s"
    run = link.start("run", *ON_TWO, "--report", str(report))
    link.wait_for(run, topic, seconds=90)
    link.listen = ""
    create_topic(boot, later, 2)
    produce(boot, later, some(1))
    link.wait_for(run, later, 1)
    grow(boot, topic, 3)
    wait_until(lambda: _can_produce(boot, topic, 2), "the new partition has a leader")
    link.wait_for(run, topic, 2)
    _what_holds_no_record_is_followed(link, run, topic)
    _kill_a_worker(run)
    produce(boot, topic, some() + some(2))
    produce(boot, later, some() + some(1))
    for copied, partition in ((topic, 0), (topic, 2), (later, 0), (later, 1)):
        link.wait_for(run, copied, partition)
    _prometheus_gets_it(metrics, link.name)
    children = run.children()
    assert run.interrupt() == 0, run.said
    wait_until(lambda: not any(map(psutil.Process.is_running, children)), "Spark has ended")
    assert ports.is_free(int(metrics.rpartition(":")[2]))
    assert "stopped after" in run.said
    told = json.loads(report.read_text())
    assert (told["link"], told["stopped"], told["complete"]) == (link.name, True, True)
    assert (told["records"], told["lag"], told["left_out"]) == (700, 0, [])
    assert {row["state"] for row in told["partitions"]} == {"caught up"}
    assert link.assert_same(topic, 3) == 400
    assert link.assert_same(later, 2) == 300
    status = here("status", str(link.file), "--output", "json")
    assert status.code == 0, status.said
    assert status.json["partitions"] == told["partitions"]


def _what_holds_no_record_is_followed(link: Link, run: Program, topic: str) -> None:
    """An empty topic is created, and configs that change at the source change on the target."""
    boot, empty = link.source.bootstrap, f"{link.name}.empty"
    create_topic(boot, empty)
    set_config(boot, topic, "segment.ms", "600000")

    def is_followed() -> bool:
        assert run.running, run.said
        there = end(link.target, empty) == 0
        return there and topic_config(link.target.bootstrap, topic, "segment.ms") == "600000"

    wait_until(is_followed, "the empty topic and the config are there")


def _prometheus_gets_it(metrics: str, name: str) -> None:
    def is_told() -> bool:
        got = Scrape(metrics)
        copied = sum(got.of("towpath_records_copied_total").values())
        return (copied, got.get("towpath_partitions", state="caught up")) == (700, 6)

    wait_until(is_told, "all that was copied is told")
    got = Scrape(metrics)
    assert_served(got)
    first = {"topic": f"{name}.first", "partition": "2"}
    assert got.get("towpath_records_copied_total", **first) == 200
    assert (got.get("towpath_bytes_copied_total", **first) or 0) > 200
    lags = [got.of(f"{lag}") for lag in ("redpanda_lag", "towpath_lag_records")]
    assert lags[0] == lags[1]
    assert {*lags[0].values()} == {0.0}
    done = got.of("towpath_steps_done_total")
    kinds = ("CreateTopic", "AddPartitions", "SetConfigs")
    assert [done[kind, "topics"] for kind in kinds] == [3, 1, 1]
    created = "redpanda_migrator_topic_create_latency_ns"
    assert got.get("redpanda_migrator_topics_created_total") == got.get(f"{created}_count") == 3
    assert 1e5 < (got.get(f"{created}_sum") or 0) < 6e10
    assert got.get("towpath_rounds_total") == 0, "a round ended for what is new"
    assert {*got.of("towpath_left_out").values()} == {0.0}
    assert [link for link, _ in got.of("towpath_info")] == [name]
    assert abs((got.get("towpath_last_look_timestamp_seconds") or 0) - now_ms() / 1000) < 60


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


@pytest.mark.spark(long=True)
def test_a_run_goes_on_exactly_where_a_killed_driver_stood(
    link: Link, rng: random.Random, here: Here
) -> None:
    """Where more slices are wished than there are cores: each of them runs all the same."""
    boot, many = link.source.bootstrap, f"{link.name}.many"
    topics = {kind: f"{link.name}.{kind}" for kind in (PLAIN, TRANSACTIONAL)}
    create_topic(boot, many, SLICES)
    for topic in topics.values():
        create_topic(boot, topic, PARTITIONS)
    link.timeout = "10s"
    run = _copying(link, many)
    writers = [
        Writer(boot, topic, kind, random.Random(rng.random()), 0.05)
        for kind, topic in topics.items()
    ]
    try:
        _goes_on(link, run, topics[PLAIN])
        run.kill9()
    finally:
        for writer in writers:
            writer.stop()
    ended = here.run(str(link.file), "--until-caught-up", "--output", "json")
    assert ended.code == 0, ended.said
    assert (ended.json["complete"], ended.json["stopped"], ended.json["lag"]) == (True, False, 0)
    assert link.assert_same(many, SLICES) == SLICES * len(some())
    for topic in topics.values():
        assert link.assert_same(topic, PARTITIONS) > 0


def _copying(link: Link, many: str) -> Program:
    """Start a run with as many slices as `many` has partitions; return it when each has copied."""
    run = link.start("run", "--parallelism", str(SLICES))
    for partition in range(SLICES):
        produce(link.source.bootstrap, many, some(partition))
        link.wait_for(run, many, partition, 120)
    return run


def _goes_on(link: Link, run: Program, topic: str) -> None:
    """Wait until the run has copied something."""

    def is_further() -> bool:
        assert run.running, run.said
        return end(link.target, topic) > 0

    wait_until(is_further, "the run copies", 90)
