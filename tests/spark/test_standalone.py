"""A Spark standalone cluster: master, worker and executors are processes of their own."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.copying.chaos import PARTITIONS, PLAIN, Writer
from tests.support.copying.standalone import Standalone, bare_python
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from towpath.cli.main import main
from towpath.cluster.admin import Admin
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.settings import ClusterConfig

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.timeout(900),
]
PATIENCE = 180.0
"""Seconds for what takes a quarter of that on a machine that has nothing else to do."""


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    made = Standalone(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Standalone]:
    """A cluster whose workers have Python, and no Towpath."""
    python = bare_python(tmp_path / "bare")
    found = subprocess.run([str(python), "-c", "import towpath"], capture_output=True, check=False)
    assert b"No module named 'towpath'" in found.stderr
    made = Standalone(tmp_path, python)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "towpath.tar.gz"
    assert main(["pack", str(path)]) == 0
    return path


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
        _says(run, "now=4 before=2")
        _goes_on(link, run, topic)
        more.send_signal(signal.SIGTERM)
        more.wait(20)
        _says(run, "now=2 before=4")
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
            _says(run, "now=4 before=2")
            _goes_on(link, run, topic)
            more.send_signal(signal.SIGTERM)
            more.wait(20)
            _says(run, "now=2 before=4")
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


def test_workers_without_towpath_run_slices_from_an_archive(
    link: Link, bare: Standalone, archive: Path, rng: random.Random
) -> None:
    """Of three workers one is killed in the middle; `verify` runs on those that are left."""
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, PARTITIONS)
    writer = Writer(link.source.bootstrap, topic, PLAIN, random.Random(rng.random()), 0.05)
    more = [bare.add_worker() for _ in range(2)]
    packages = "--packages-archive", str(archive)
    try:
        run = start(link, bare, *packages)
        _goes_on(link, run, topic)
        wait_until(
            lambda: all(map(bare.executors_of, more)), "each worker has an executor", PATIENCE
        )
        _goes_on(link, run, topic)
        bare.kill9(more[0])
        _goes_on(link, run, topic)
        _says(run, "before=6")
        _goes_on(link, run, topic)
    finally:
        writer.stop()
    for partition in range(PARTITIONS):
        link.wait_for(run, topic, partition)
    assert run.stop() == 0, run.said
    assert link.assert_same(topic, PARTITIONS) == writer.number
    env = {"SPARK_CONF_DIR": str(bare.folder)}
    proof = link.start("verify", "--master", bare.master, *packages, env=env)
    assert proof.wait(120) == 0, proof.said
    assert f"{PARTITIONS} equal of {PARTITIONS} partitions" in proof.said


def test_workers_with_another_python_are_told(
    link: Link, bare: Standalone, archive: Path, tmp_path: Path
) -> None:
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, 1)
    produce(link.source.bootstrap, topic, [Record(b"k", b"v")])
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho .cpython-399.so\n")
    other.chmod(0o755)
    env = {"SPARK_CONF_DIR": str(bare.folder), "PYSPARK_PYTHON": str(other)}
    run = link.start("run", "--master", bare.master, "--packages-archive", str(archive), env=env)
    assert run.wait(180) == 4, run.said
    assert "cannot run slices: the archive needs a Python whose modules end in " in run.said
    assert f"found: {other} (.cpython-399.so)" in run.said
    assert "towpath explain SPARK_WORKERS" in run.said


def _says(run: Program, number: str) -> None:
    """Wait until the run says that the number of slices has changed.

    That takes a hand-over, which may wait half a minute for slices of a worker that is gone.
    """
    _wait(run, lambda: number in run.said, number)


def _goes_on(link: Link, run: Program, topic: str) -> None:
    before = end(link.target, topic)
    _wait(run, lambda: end(link.target, topic) > max(before, 0), "the run copies")


def _wait(run: Program, condition: Callable[[], bool], what: str) -> None:
    def holds() -> bool:
        assert run.running, "it ended"
        return condition()

    try:
        wait_until(holds, what, PATIENCE)
    except AssertionError as error:
        raise AssertionError(f"{error}: {run.said}") from None
