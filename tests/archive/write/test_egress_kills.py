"""Egress and commits that are killed at any step, also of several at a time, lose nothing."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import soak_rounds
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.objects.stores import KINDS, empty_section
from tests.support.program import environment
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
OLD = 40 * 24 * 3600 * 1000


def fill(bootstrap: str, topic: str, rng: random.Random, count: int) -> None:
    """Write records of now and of 40 days ago, of any kind, in batches of any size."""
    create_topic(bootstrap, topic, 2, config={"retention.ms": "-1"})
    for partition in range(2):
        left = count
        while left > 0:
            size = min(left, rng.choice([1, 5, 30]))
            since = now_ms() - rng.choice([0, OLD])
            records = [
                Record(
                    rng.choice([None, b"", b"k"]), rng.choice([None, b"", rng.randbytes(40)]),
                    rng.choice([(), (("h", None), ("h", b""))]), since + n, partition=partition,
                )
                for n in range(size)
            ]  # fmt: skip
            produce(bootstrap, topic, records, {"compression.type": rng.choice(["none", "lz4"])})
            left -= size


def victims(archive: Archive, rng: random.Random, kills: int, several: int) -> int:
    """Archive with processes that are killed so many times; return how often they were."""
    words = [sys.executable, "-m", "tests.support.archive.egress_victim", str(archive.file)]
    running = [
        subprocess.Popen(
            [*words, str(rng.getrandbits(32)), str(kills // several)],
            env=environment(), stdout=subprocess.PIPE, text=True,
        )
        for _ in range(several)
    ]  # fmt: skip
    said = [each.communicate(timeout=7200)[0] for each in running]
    assert [each.returncode for each in running] == [0] * several
    return sum(map(int, said))


def assert_equal(archive: Archive, topic: str) -> None:
    for partition in range(2):
        seen = consume(archive.source.bootstrap, topic, (partition,))
        assert archive.records(topic, partition) == seen
        assert archive.segments(topic, partition)[0].start == 0


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("store", KINDS)
@pytest.mark.soak
@pytest.mark.timeout(9600)
def test_egress_that_is_killed_at_any_step(
    store: str,
    several: int,
    source: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    rng: random.Random,
    request: pytest.FixtureRequest,
) -> None:
    kills = soak_rounds() or 200
    name = new_name("killed")
    topic = f"{name}.topic"
    fill(source.bootstrap, topic, rng, 10 * kills)
    archive = Archive(tmp_path, source, name, empty_section(request, store, tmp_path))
    killed = victims(archive, rng, kills, several)
    assert killed > kills // 3, "they were done too soon"
    assert_equal(archive, topic)
