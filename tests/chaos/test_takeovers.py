"""Mapped partitions that are taken over from frozen and killed runs: nothing lost, none doubled."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.forgetful import DAY_MS, PARTITIONS, Proxied, Run, Writer, faster
from tests.support.copying.chaos import Copiers, endless, parts, same_by_map
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.network.proxy import Proxy
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
MAPPED = {"offsets": "mapped"}
COUNT = 200


@pytest.fixture
def forgetful(lone: SharedCluster) -> SharedCluster:
    """Return a target that looks for producers to forget each second."""
    return lone


@pytest.fixture
def proxy(forgetful: SharedCluster) -> Iterator[Proxy]:
    made = Proxy(forgetful)
    yield made
    made.close()


@pytest.mark.parametrize("run", ["next", "same"])
@pytest.mark.parametrize("days", [40, pytest.param(0, marks=pytest.mark.soak)])
def test_what_a_frozen_machine_still_delivers_is_refused(
    tmp_path: Path,
    source: LocalCluster,
    forgetful: SharedCluster,
    proxy: Proxy,
    new_name: NewName,
    copiers: Copiers,
    days: int,
    run: str,
) -> None:
    """It comes when the same records were copied by the next run, or once more by the same one.

    A driver tells each attempt at a slice alike that nothing older can arrive.
    """
    frozen = Proxied(tmp_path, source, forgetful, new_name("frozen"), records=MAPPED, timeout="4s")
    frozen.create(1, {"retention.ms": "-1"})
    at = now_ms() - days * DAY_MS
    records = [Record(b"k", b"%d" % n + b"x" * 1000, (), at) for n in range(COUNT)]
    produce(source.bootstrap, frozen.topic, records[:10])
    process = copiers.attempt(endless(frozen.slices(run_id="same")[0]))
    wait_until(lambda: end_offsets(forgetful.bootstrap, frozen.topic)[1] == 10, "it copies")
    proxy.holding = True
    produce(source.bootstrap, frozen.topic, records[10:], {"batch.num.messages": 10})
    wait_until(lambda: proxy.held > 10_000, "records are on their way")
    copiers.kill(process)
    following = Mirror(tmp_path, source, forgetful, frozen.topic, records=MAPPED, timeout="4s")
    [work] = following.slices(run_id=run)
    copiers.attempt(endless(replace(work, settled=run == "same")))
    wait_until(lambda: copied(forgetful, frozen.topic) == COUNT, "the next run copies all")
    if days:
        wait_until(lambda: not remembers_records(forgetful, frozen.topic), "it forgets")
    proxy.release()
    wait_until(lambda: proxy.answered, "the broker has answered what came late")
    there = [record.value for record in consume(forgetful.bootstrap, frozen.topic)]
    assert there == [record.value for record in records]


@pytest.mark.chaos
@pytest.mark.soak
def test_runs_that_wake_while_others_copy(
    tmp_path: Path,
    source: LocalCluster,
    forgetful: SharedCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    soak_seconds: int,
) -> None:
    played, struck, taken = 0, Counter[str](), 0
    for rounds in parts(2, 10, soak_seconds):
        mirror = Mirror(
            tmp_path, source, forgetful, new_name("awake"), records=MAPPED, timeout="4s"
        )
        mirror.create(PARTITIONS, {"retention.ms": "-1"})
        mirror.slices()  # makes the ledger
        writer = Writer(source.bootstrap, mirror.topic, rng)
        try:
            with faster():
                for _ in range(rounds):
                    struck[strike(mirror, copiers, rng)] += 1
        finally:
            writer.stop()
        Run(mirror, copiers).catch_up()
        both = [consume(c.bootstrap, mirror.topic, range(PARTITIONS)) for c in (source, forgetful)]
        same_by_map(mirror, *both)
        played, taken = played + rounds, taken + mirror.books().generation
        sys.stderr.write(
            f"{played} rounds, {dict(struck)}, {len(both[1])} records, no difference\n"
        )
    assert taken


def strike(mirror: Mirror, copiers: Copiers, rng: random.Random) -> str:
    """Let a run be taken over by another, which dies; return what became of the first."""
    first = Run(mirror, copiers)
    first.begin()
    time.sleep(rng.uniform(0.3, 2.0))
    kind = rng.choice(("kill", "freeze", "freeze"))
    first.die() if kind == "kill" else first.freeze()
    second = Run(mirror, copiers)
    second.begin()
    time.sleep(rng.uniform(0.0, 5.0))
    if kind == "freeze":
        first.wake()
        time.sleep(rng.uniform(0.0, 2.0))
    second.die()
    if kind == "freeze":
        first.await_end()
    return kind


def copied(cluster: LocalCluster, topic: str) -> int:
    return len(consume(cluster.bootstrap, topic))


def remembers_records(cluster: LocalCluster, topic: str) -> bool:
    """Whether the leader remembers the last record of any producer."""
    tp = TopicPartition(TopicName(topic), 0)
    with Admin(ClusterConfig(bootstrap=cluster.bootstrap), Side.TARGET) as admin:
        return any(last >= 0 for last in admin.producers.sequences([tp])[tp].values())
