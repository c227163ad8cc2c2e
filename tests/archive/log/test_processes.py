"""Processes that are killed while they commit, or write one log at the same time."""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive import racer
from tests.support.archive.archives import archiving, partition_id, record_digest, segment
from tests.support.kafka import wait_until
from tests.support.objects.stores import CLOUDS
from tests.support.program import environment
from towpath.archive.log import CommitLog
from towpath.model.digest import Digest
from towpath.settings import StoreConfig
from towpath.store import Store

pytestmark = pytest.mark.slow

PIPES: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


def command(kind: str, config: StoreConfig, folder: Path, *more: str) -> list[str]:
    path = folder / "config"
    path.write_bytes(pickle.dumps(config))
    return [sys.executable, "-m", "tests.support.archive.racer", kind, str(path), *more]


@pytest.mark.parametrize(
    "config", ["file", pytest.param("s3", marks=pytest.mark.soak), *CLOUDS], indirect=True
)
def test_a_kill_at_any_step_of_a_commit_loses_and_doubles_nothing(
    config: StoreConfig, tmp_path: Path
) -> None:
    run = subprocess.run(
        command("kill", config, tmp_path),
        env=environment(), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    codes = [int(line) for line in run.stdout.split()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0], run.stderr
    found = []
    for step in range(1, len(codes) + 1):
        with Store(racer.at_step(config, step)) as store:
            found.append(goes_on(store))
    first = found.index(2)
    assert found == [1] * first + [2] * (len(found) - first)
    assert 0 < first < len(found) - 2


def goes_on(store: Store) -> int:
    """Return the version that a killed commit left; the next writer commits the same plan."""
    log = CommitLog.open_or_begin(store, "eu")
    version = log.state.version
    assert log.state.segments(partition_id()) == [segment(0, 10), segment(10, 20)][:version]
    done = log.append(archiving(segment(10, 20)))
    assert (done.added, done.dropped) == ((segment(10, 20),), ())
    log.append(archiving(segment(20, 30)))
    state = CommitLog.open(store, "eu").state
    assert [each.start for each in state.segments(partition_id())] == [0, 10, 20]
    assert state.version == 3
    return version


@pytest.mark.soak
def test_processes_that_race_lose_and_double_nothing(
    config: StoreConfig, tmp_path: Path, rng: random.Random
) -> None:
    """Some of them are killed while they are in the middle of it."""

    def start() -> subprocess.Popen[str]:
        words = command("race", config, tmp_path, str(rng.getrandbits(32)))
        return subprocess.Popen(words, env=environment(), text=True, **PIPES)

    others, victims = [start() for _ in range(2)], [start() for _ in range(2)]
    try:
        for each in (*others, *victims):
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in (*others, *victims):
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        kill_at_random(config, victims, rng)
        told = [each.communicate(timeout=120) for each in others]
    finally:
        for each in (*others, *victims):
            each.kill()
            each.communicate()
    assert [each.returncode for each in others] == [0] * len(others), told
    dropped = [int(out) for out, _ in told]
    with Store(config) as store:
        state = CommitLog.open(store, "eu").state
    assert sum(dropped) > 0, "they never met"
    for partition in range(racer.PARTITIONS):
        segments = state.segments(partition_id(partition))
        assert [each.start for each in segments] == [0, *(each.end for each in segments[:-1])]
        assert segments[-1].end == racer.END
        digest = reduce(Digest.then, (each.digest for each in segments), Digest())
        assert digest == record_digest(0, racer.END)
    live = [each.place.key for each in state.table() if each.place]
    assert len(live) == len(set(live))


def kill_at_random(
    config: StoreConfig, victims: list[subprocess.Popen[str]], rng: random.Random
) -> None:
    """Kill each of them some versions after the one before it."""
    with Store(config) as store:
        log = CommitLog.open_or_begin(store, "eu")
        for each in victims:
            wait_for(each, log, log.state.version + rng.randint(3, 12))
            each.kill()


def wait_for(racer: subprocess.Popen[str], log: CommitLog, version: int) -> None:
    def is_there() -> bool:
        log.follow()
        return log.state.version >= version or racer.poll() is not None

    wait_until(is_there, "they write versions")


@pytest.mark.soak
@pytest.mark.parametrize("round_", range(20))
def test_processes_that_race_often_lose_and_double_nothing(
    config: StoreConfig, tmp_path: Path, rng: random.Random, round_: int
) -> None:
    del round_
    test_processes_that_race_lose_and_double_nothing(config, tmp_path, rng)
