"""A mirror that is frozen across a failover and wakes up writes nothing more."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import Copiers, endless
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    end_offsets,
    produce,
    wait_until,
)
from tests.support.links import Link
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode

pytestmark = [pytest.mark.broker, pytest.mark.soak]


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=0) for i in range(first, first + count)]


@pytest.mark.spark
@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_a_frozen_run_that_wakes_up_without_its_source_ends_soon(
    tmp_path: Path,
    lone: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    how: str,
) -> None:
    """The seal is on the target, which answers; nobody waits until the source does."""
    link = Link(tmp_path, lone, target, new_name("woken"), timeout="90s")
    topic = create_topic(lone.bootstrap, f"{link.name}.one")
    produce(lone.bootstrap, topic, some(0, 100))
    run = link.start("run")
    try:
        link.wait_for(run, topic, seconds=120)
        os.killpg(run.pid, signal.SIGSTOP)
        (lone.kill9 if how == "killed" else lone.pause)(1)
        done = here("failover", str(link.file), "--yes", "-o", "json")
        assert done.json["done"], done.said
        os.killpg(run.pid, signal.SIGCONT)
        assert run.wait(45) == 4
        assert "is failed over" in run.said
    finally:
        run.close()
        lone.restart(1) if how == "killed" else lone.resume(1)


@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_a_frozen_mirror_that_wakes_up_is_refused(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    copiers: Copiers,
    here: Here,
    offsets: str,
) -> None:
    topic = new_name("frozen")
    mirror = Mirror(tmp_path, source, target, topic, records={"offsets": offsets})
    mirror.create()
    file = str(tmp_path / f"{mirror.config.link}.yaml")
    produce(source.bootstrap, topic, some(0, 1000))
    assert here("apply", file, "--yes").code == 0
    [work] = mirror.slices()
    copier = copiers.start(endless(work))
    wait_until(lambda: end_offsets(target.bootstrap, topic)[1] >= 1000, "all is copied")
    assert copier.pid is not None
    os.kill(copier.pid, signal.SIGSTOP)
    try:
        produce(source.bootstrap, topic, some(1000, 500))
        told = here("failover", file, "--yes", "-o", "json")
        assert told.json["done"], told.said
        assert told.json["plan"]["lost"] == 500
        produce(target.bootstrap, topic, some(5000, 10))
        before = consume(target.bootstrap, topic)
    finally:
        os.kill(copier.pid, signal.SIGCONT)
    copier.join(60)
    assert not copier.is_alive(), "it has read of the seal"
    assert consume(target.bootstrap, topic) == before
    values = [each.value for each in before]
    assert values == [each.value for each in [*some(0, 1000), *some(5000, 10)]]
    books = mirror.books()
    assert books.cut is not None
    assert (books.cut.source_end + books.cut.passed, books.cut.target_end) == (1000, 1000)
    assert books.mode is (Mode.MAPPED if offsets == "mapped" else Mode.IDENTICAL)
