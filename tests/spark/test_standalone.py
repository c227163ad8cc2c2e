"""A Spark standalone cluster: master, worker and executors are processes of their own."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyspark
import pytest

from tests.spark.conftest import Link, end
from tests.support.chaos import PARTITIONS, PLAIN, Writer, soak_only
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.program import Program, environment
from towpath.cluster.admin import Admin
from towpath.config import ClusterConfig
from towpath.dev import ports
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(300)]
_EXECUTOR = "CoarseGrainedExecutorBackend"
_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Standalone:
    """A master and a worker on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._all: list[subprocess.Popen[bytes]] = []
        (folder / "spark-defaults.conf").write_text(
            "spark.executor.memory 512m\nspark.driver.host 127.0.0.1\n"
            "spark.driver.bindAddress 127.0.0.1\n"
            f"spark.executor.extraJavaOptions {' '.join(_FAST_START)}\n"
            "spark.authenticate true\nspark.authenticate.secret of-this-cluster\n"
            "spark.network.crypto.enabled true\n"
        )
        port, page, worker, worker_page = ports.reserve(4)
        self.pages = f"http://127.0.0.1:{page}", f"http://127.0.0.1:{worker_page}"
        self.master = f"spark://127.0.0.1:{port}"
        here = "--host", "127.0.0.1"
        self._java("master.Master", *here, "--port", str(port), "--webui-port", str(page))
        wait_until(lambda: not ports.is_free(port), "the master listens")
        self.worker = self._worker(worker, worker_page)

    def executors(self) -> list[psutil.Process]:
        """Return the executors that run."""
        children = psutil.Process(self.worker.pid).children()
        return [each for each in children if any(_EXECUTOR in word for word in _words(each))]

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        return self._worker(*ports.reserve(2))

    def stop(self) -> None:
        """End all."""
        for each in reversed(self._all):
            each.send_signal(signal.SIGTERM)
            each.wait(20)

    def _worker(self, port: int, page: int) -> subprocess.Popen[bytes]:
        return self._java(
            "worker.Worker", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page),
            "--cores", "2", "--memory", "1g", "--work-dir", str(self.folder / "work"), self.master,
        )  # fmt: skip

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        jars = Path(pyspark.__file__).parent / "jars"
        line = ["java", "-Xmx256m", *_FAST_START, "-cp", f"{jars}/*"]
        line += [f"org.apache.spark.deploy.{name}", *arguments]
        spark = {"SPARK_HOME": str(jars.parent), "SPARK_SCALA_VERSION": "2.13"}
        spark |= {"SPARK_CONF_DIR": str(self.folder), "SPARK_LOCAL_IP": "127.0.0.1"}
        env = environment(spark)
        with (self.folder / f"{name}.log").open("wb") as log:
            made = subprocess.Popen(line, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._all.append(made)
        return made


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


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


@soak_only
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
        admin.set_quota(quota, 500_000)
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
            admin.set_quota(quota, None)
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
