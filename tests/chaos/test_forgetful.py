"""A target that forgets producer ids while history is copied: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.fleet import PLAIN
from tests.support.clusters.forgetful import (
    PARTITIONS,
    Proxied,
    Run,
    Trouble,
    Writer,
    faster,
)
from tests.support.copying.chaos import Copiers, parts, same_by_map, same_records
from tests.support.kafka import consume
from tests.support.network.proxy import Proxy
from towpath.dev import distribution
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
LOOKS = {"often": "1000", "default": "600000"}
"""`producer.id.expiration.check.interval.ms` of the target."""


@pytest.fixture(params=[*LOOKS])
def forgetful(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SharedCluster]:
    check = {"producer.id.expiration.check.interval.ms": LOOKS[request.param]}
    cluster = SharedCluster(home=tmp_path / "kafka", properties=check, listeners=PLAIN)
    with cluster:
        yield cluster


@pytest.mark.chaos
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_runs_that_freeze_and_lose_answers(
    tmp_path: Path,
    source: LocalCluster,
    forgetful: SharedCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    soak_seconds: int,
    offsets: str,
) -> None:
    played, struck = 0, Counter[str]()
    proxy = Proxy(forgetful)
    trouble = Trouble(proxy, forgetful, rng)
    try:
        for rounds in parts(2, 10, soak_seconds):
            topic = new_name("forget")
            mirror = Proxied(
                tmp_path, source, forgetful, topic, records={"offsets": offsets}, timeout="4s"
            )
            mirror.create(PARTITIONS, {"retention.ms": "-1"})
            mirror.slices()  # makes the ledger
            writer = Writer(source.bootstrap, topic, rng)
            try:
                with faster():
                    for _ in range(rounds):
                        struck[trouble.strike(Run(mirror, copiers))] += 1
                        trouble.wake_due()
                    trouble.wake_due(everything=True)
            finally:
                writer.stop()
            Run(mirror, copiers).catch_up()
            records = compare(mirror)
            played += rounds
            text = f"{played} rounds ({offsets}), {dict(struck)}, {records} records, no difference"
            sys.stderr.write(text + "\n")
    finally:
        proxy.close()


def compare(mirror: Proxied) -> int:
    """Compare both sides record by record; return how many there are."""
    source, target = (
        consume(cluster.bootstrap, mirror.topic, range(PARTITIONS))
        for cluster in (mirror.source, mirror.target)
    )
    if mirror.records["offsets"] == "mapped":
        same_by_map(mirror, source, target)
    else:
        same_records(source, target, mirror.topic)
    return len(target)


@pytest.mark.soak
@pytest.mark.parametrize("version", distribution.VERSIONS[:-1])
def test_older_targets_forget_alike(
    tmp_path: Path,
    source: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    version: str,
) -> None:
    check = {"producer.id.expiration.check.interval.ms": "1000"}
    with SharedCluster(
        version, home=tmp_path / "kafka", properties=check, listeners=PLAIN
    ) as target:
        test_runs_that_freeze_and_lose_answers(
            tmp_path, source, target, new_name, rng, copiers, 0, "auto"
        )
