"""Each version of Spark that is promised: a standalone cluster of it, and a worker that dies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.copying.chaos import PARTITIONS, PLAIN, Writer
from tests.support.copying.sparks import VERSIONS, fetch_spark, with_spark
from tests.support.copying.standalone import Standalone
from tests.support.kafka import consume, create_topic, wait_until
from tests.support.links import Link, end
from tests.support.program import Program, environment

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark(own=True),
    pytest.mark.soak,
    pytest.mark.timeout(1800),
]
PATIENCE = 300.0
"""Seconds for what takes a quarter of that on a machine that has nothing else to do."""


@pytest.fixture(params=VERSIONS)
def packages(request: pytest.FixtureRequest) -> Path:
    return fetch_spark(request.param)


@pytest.fixture
def cluster(packages: Path, tmp_path: Path) -> Iterator[Standalone]:
    made = Standalone(tmp_path, spark=packages)
    yield made
    made.stop()


@pytest.fixture
def play(packages: Path, cluster: Standalone, tmp_path: Path) -> Callable[..., Program]:
    """Start a command on the cluster, with the PySpark of its version."""
    path = f"{with_spark(packages)['PYTHONPATH']}:{environment()['PYTHONPATH']}"
    env = {"SPARK_CONF_DIR": str(cluster.folder), "PYTHONPATH": path}

    def start(name: str, *words: object) -> Program:
        words = (*words, "--master", cluster.master)
        return Program(tmp_path, *map(str, words), env=env, name=name)

    return start


def test_a_link_its_proof_an_archive_and_a_restore(
    link: Link,
    cluster: Standalone,
    play: Callable[..., Program],
    tmp_path: Path,
    rng: random.Random,
) -> None:
    topic = f"{link.name}.{PLAIN}"
    create_topic(link.source.bootstrap, topic, PARTITIONS)
    writer = Writer(link.source.bootstrap, topic, PLAIN, random.Random(rng.random()), 0.05)
    more = cluster.add_worker()
    try:
        run = play("run", "run", link.file)
        link.programs.append(run)
        _goes_on(link, run, topic)
        wait_until(lambda: bool(cluster.executors_of(more)), "the worker has an executor", PATIENCE)
        cluster.kill9(more)
        _goes_on(link, run, topic)
    finally:
        writer.stop()
    for partition in range(PARTITIONS):
        link.wait_for(run, topic, partition, PATIENCE)
    assert run.stop() == 0, run.said
    assert link.assert_same(topic, PARTITIONS) == writer.number

    _ends(play("verify", "verify", link.file))
    archive = tmp_path / "archive.yaml"
    archive.write_text(
        f"kind: archive\narchive: {link.name}\nregion: here\n"
        f"source: {{bootstrap: '{link.source.bootstrap}'}}\n"
        f"store: {{url: 'file:{tmp_path / 'store'}'}}\n"
        f"topics: {{include: ['{topic}']}}\n"
        f"target: {{bootstrap: '{link.target.bootstrap}'}}\n"
        f"restore: {{topics: {{include: ['{topic}'], rename: '{{topic}}.restored'}}}}\n"
    )
    _ends(play("archive", "archive", "run", archive, "--until-caught-up"))
    _ends(play("restore", "restore", "run", archive))
    restored = consume(link.target.bootstrap, f"{topic}.restored", range(PARTITIONS))
    assert restored == consume(link.source.bootstrap, topic, range(PARTITIONS))


def _ends(program: Program) -> None:
    try:
        assert program.wait(PATIENCE) == 0, program.said
    finally:
        program.close()


def _goes_on(link: Link, run: Program, topic: str) -> None:
    before = end(link.target, topic)

    def goes_on() -> bool:
        assert run.running, "it ended"
        return end(link.target, topic) > max(before, 0)

    try:
        wait_until(goes_on, "the run copies", PATIENCE)
    except AssertionError as error:
        raise AssertionError(f"{error}: {run.said}") from None
