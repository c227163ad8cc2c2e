"""kill -9 at any request of a failover, failback, salvage and replay: each record is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import standing
from tests.support.copying.chaos import soak_rounds
from tests.support.copying.quarantine import begin
from tests.support.kafka import Record, commit, consume, produce
from tests.support.mirror import Mirror
from tests.support.program import environment
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import LinkStage
from towpath.model.nouns import Side

pytestmark = [pytest.mark.broker, pytest.mark.soak]
PARTITIONS, BOTH, TAIL, NEW = 2, 20, 30, 40
WORDS = [sys.executable, "-m", "tests.support.failback_victim"]


def some(word: str, number: int, partition: int) -> list[Record]:
    return [
        Record(b"k%d" % n, b"%s %d" % (word.encode(), n), timestamp=1000 + n, partition=partition)
        for n in range(number)
    ]


def values(cluster: LocalCluster, topic: str, partition: int) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic, (partition,))]


def play(rng: random.Random, file: Path, what: str) -> Any:
    """Do something until an attempt at it ends by itself; return how many were killed."""
    done = subprocess.run(
        [*WORDS, str(rng.random()), str(file), what],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_each_record_is_in_exactly_one_place(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    rng: random.Random,
) -> None:
    """Each link fails over, is turned round, and replays; some attempts are frozen instead."""
    rounds = killed = back = 0
    while killed < (soak_rounds() or 100):
        mirror = Mirror(tmp_path, source, target, new_name("kills"), sections="groups: {}\n")
        _begin(mirror)
        file = tmp_path / f"{mirror.topic}.yaml"
        told = play(rng, file, "failover")
        killed += told["killed"] + told["frozen"]
        _is_over(mirror)
        rounds += 1
        boot = target.bootstrap
        produce(boot, mirror.topic, [r for n in range(PARTITIONS) for r in some("new", NEW, n)])
        told = play(rng, file, str(Side.TARGET))
        back += told["killed"] + told["frozen"]
        _goes_back(mirror)
    sys.stderr.write(f"{killed} attempts ended at failovers, {back} behind {rounds} of them\n")


def _begin(mirror: Mirror) -> None:
    mirror.create(PARTITIONS)
    boot, topic = mirror.source.bootstrap, mirror.topic
    produce(boot, topic, [r for n in range(PARTITIONS) for r in some("both", BOTH, n)])
    commit(boot, f"{topic}-group", topic, 0, BOTH - 5)
    begin(mirror)
    commit(boot, f"{topic}-group", topic, 1, BOTH)
    produce(boot, topic, [r for n in range(PARTITIONS) for r in some("tail", TAIL, n)])


def _is_over(mirror: Mirror) -> None:
    topic, target = mirror.topic, mirror.target
    books = mirror.link_books()
    state = books.state_of()
    assert state is not None
    assert state.state == LinkStage.FAILED_OVER
    for tp, each in books.partitions.items():
        assert each.cut is not None
        assert (each.cut.source_end, each.cut.target_end) == (BOTH, BOTH)
        source = consume(mirror.source.bootstrap, topic, (tp.partition,))
        assert consume(target.bootstrap, topic, (tp.partition,)) == source[:BOTH]
    stands = [standing(target, f"{topic}-group", topic, n) for n in range(PARTITIONS)]
    assert [each and each[0] for each in stands] == [BOTH - 5, BOTH]


def _goes_back(mirror: Mirror) -> None:
    """What the source alone had is salvaged, and replayed; the link back brings all of it."""
    topic, target = mirror.topic, mirror.target
    state = mirror.link_books().state_of()
    assert state is not None
    assert state.state == LinkStage.REVERSED
    back = Mirror(
        mirror.folder, target, mirror.source, topic, f"{topic}-back", more="  shared: true\n"
    )
    assert [each.error for each in back.catch_up()] == [""] * PARTITIONS
    for n in range(PARTITIONS):
        both, tail, new = (
            [each.value for each in some(word, number, n)]
            for word, number in (("both", BOTH), ("tail", TAIL), ("new", NEW))
        )
        assert values(target, topic, n) == [*both, *new, *tail]
        assert [v for v in values(target, f"{topic}.salvage", n) if v is not None] == tail
        assert values(mirror.source, topic, n) == [*both, *tail, *new, *tail]
