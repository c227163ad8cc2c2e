"""A link copies at its limit, which is changed while it runs, and a topic at one of its own."""

from __future__ import annotations

import random
import time

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import Link, end
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]
PARTITIONS = 4
LARGE, COUNT = 10_000, 2000
SMALL = 50_000
"""Bytes of a batch: it comes whole, so the rate of some seconds is not known better."""
RATE = 500_000
SECONDS = 6.0


def test_a_link_keeps_to_its_limit_and_a_topic_to_its_own(
    link: Link, here: Here, rng: random.Random
) -> None:
    source, target = link.source, link.target
    heavy, light = f"{link.name}.heavy", f"{link.name}.light"
    link.run = "{discover: 500ms, max_rate: 500KB}"
    file = str(link.file)

    def ends(cluster: LocalCluster) -> list[int]:
        return [max(0, end(cluster, heavy, number)) for number in range(PARTITIONS)]

    def copied(cluster: LocalCluster = target) -> int:
        return sum(ends(cluster))

    def told(*arguments: str) -> str:
        done = here("rate", file, *arguments)
        assert done.code == 0, done.said
        return " ".join(done.out.split())

    create_topic(source.bootstrap, heavy, PARTITIONS)
    create_topic(source.bootstrap, light)
    values = [(n % PARTITIONS, rng.randbytes(LARGE)) for n in range(COUNT)]
    records = [Record(b"k", v, partition=p) for p, v in values]
    produce(source.bootstrap, heavy, records, {"batch.size": SMALL})
    run = link.run_inside()
    wait_until(lambda: min(ends(target)) > 0, "both slices copy", 120)
    first, began = copied(), time.monotonic()
    wait_until(lambda: time.monotonic() - began > SECONDS, "some seconds are over")
    speed = (copied() - first) * LARGE / (time.monotonic() - began)
    assert 0.85 * RATE < speed < 1.1 * RATE, run.said

    assert f"topic {heavy} is limited to 200KB/s" in told("200KB", "--topics", heavy)
    assert "the link has no limit, set by " in told("none")
    wait_until(lambda: f"{heavy} is limited" in run.said, "the run says so")
    for _ in range(10):
        produce(source.bootstrap, light, [Record(b"k", b"v")])
        began = time.monotonic()
        link.wait_for(run, light, 0, 1.5)
    assert copied() < copied(source), "the other topic did not wait for this one"
    status = here("status", file)
    assert f"topic {heavy} is limited to 200KB/s, set by" in " ".join(status.out.split())

    assert told("--reset", "--topics", heavy).startswith("the link has no limit, set by")
    for number in range(PARTITIONS):
        link.wait_for(run, heavy, number)
    run.stop()
    assert link.assert_same(heavy, PARTITIONS) == COUNT
    assert "the link is limited to 500KB/s by `run.max_rate`" in told("--reset")
    assert "was limited to 200KB/s" in here("history", file).out
