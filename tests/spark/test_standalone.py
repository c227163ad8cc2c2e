"""A Spark standalone cluster: master, worker and executors are processes of their own."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chaos import PARTITIONS, PLAIN, Writer
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from tests.support.standalone import Standalone
from towpath.cluster.admin import Admin
from towpath.config import ClusterConfig
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    made = Standalone(tmp_path)
    yield made
    made.stop()


def start(link: Link, standalone: Standalone, *arguments: str) -> Program:
    env = {"SPARK_CONF_DIR": str(standalone.folder)}
    return link.start("run", "--master", standalone.master, *arguments, env=env)


def test_the_same_mirror_on_a_standalone_cluster(
    link: Link, standalone: Standalone, rng: random.Random
) -> None:
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, PARTITIONS)
    writer = Writer(link.source.bootstrap, topic, PLAIN, random.Random(rng.random()), 0.05)
    try:
        run = start(link, standalone)
        _goes_on(link, run, topic)
        executors = standalone.executors()
        assert executors
        for executor in executors:
            executor.kill()
        _goes_on(link, run, topic)
    finally:
        writer.stop()
    for partition in range(PARTITIONS):
        link.wait_for(run, topic, partition)
    assert run.stop() == 0, run.said
    assert link.assert_same(topic, PARTITIONS) == writer.number


def test_slices_follow_executors_that_join_and_vanish(
    link: Link, standalone: Standalone, rng: random.Random
) -> None:
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, PARTITIONS)
    writer = Writer(link.source.bootstrap, topic, PLAIN, random.Random(rng.random()), 0.05)
    try:
        run = start(link, standalone)
        _goes_on(link, run, topic)
        more = standalone.add_worker()
        wait_until(lambda: "Spark runs 4 slices at a time now, not 2" in run.said, "4 slices", 60)
        _goes_on(link, run, topic)
        more.send_signal(signal.SIGTERM)
        more.wait(20)
        wait_until(lambda: "Spark runs 2 slices at a time now, not 4" in run.said, "2 slices", 60)
        _goes_on(link, run, topic)
    finally:
        writer.stop()
    for partition in range(PARTITIONS):
        link.wait_for(run, topic, partition)
    assert run.stop() == 0, run.said
    assert link.assert_same(topic, PARTITIONS) == writer.number


def test_slices_of_a_run_until_caught_up_follow_executors(
    link: Link, standalone: Standalone, rng: random.Random
) -> None:
    """It ends where the source ended when it began, however often its slices are dealt anew."""
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, 4)
    records = [Record(b"%d" % i, rng.randbytes(50_000), (), 0, -1, i % 4) for i in range(1200)]
    produce(link.source.bootstrap, topic, records)
    writer = Writer(link.source.bootstrap, topic, PLAIN, random.Random(rng.random()), 0.5)
    quota = Quota((Entity(EntityKind.CLIENT_ID, "towpath"),), QuotaKey.CONSUMER_BYTE_RATE)
    cluster = ClusterConfig(bootstrap=link.source.addresses)
    with Admin(cluster, Side.SOURCE) as admin:
        admin.quotas.change(quota, 500_000)
        try:
            run = start(link, standalone, "--until-caught-up")
            _goes_on(link, run, topic)
            more = standalone.add_worker()
            wait_until(lambda: "Spark runs 4 slices at a time now, not 2" in run.said, "4", 60)
            _goes_on(link, run, topic)
            more.send_signal(signal.SIGTERM)
            more.wait(20)
            wait_until(lambda: "Spark runs 2 slices at a time now, not 4" in run.said, "2", 60)
            _goes_on(link, run, topic)
        finally:
            admin.quotas.change(quota, None)
            writer.stop()
    assert run.wait(120) == 0, run.said
    number = 0
    for partition in range(4):
        there = consume(link.target.bootstrap, topic, [partition])
        assert there == consume(link.source.bootstrap, topic, [partition])[: len(there)]
        number += len(there)
    assert number >= len(records)


def _goes_on(link: Link, run: Program, topic: str) -> None:
    before = end(link.target, topic)

    def is_further() -> bool:
        assert run.running, run.said
        return end(link.target, topic) > max(before, 0)

    wait_until(is_further, "the run copies", 120)
