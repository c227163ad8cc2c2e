"""What a failover tells while its source is frozen, beside what was really there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.quarantine import begin
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, commit, consume, create_topic, end_offsets, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.soak]


def some(first: int, count: int, partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(first, first + count)]


def mirrored(mirror: Mirror, partitions: int) -> str:
    """Copy 100 records of each partition; return the file of the link."""
    source = mirror.source.bootstrap
    for cluster in (mirror.source, mirror.target):
        create_topic(cluster.bootstrap, mirror.topic, partitions)
    for partition in range(partitions):
        produce(source, mirror.topic, some(0, 100, partition))
    begin(mirror)
    _ = mirror.config  # writes the file
    return str(mirror.folder / f"{mirror.config.link}.yaml")


def test_a_frozen_source_is_failed_over_with_what_is_known_of_it(
    tmp_path: Path,
    lone: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    """Of 7 records that were not mirrored, 3 are known, as a group had read them."""
    mirror = Mirror(
        tmp_path, lone, target, new_name("frozen"), sections="groups: {}\n", timeout="5s"
    )
    file = mirrored(mirror, 2)
    produce(lone.bootstrap, mirror.topic, some(100, 7))
    commit(lone.bootstrap, f"{mirror.topic}-group", mirror.topic, 0, 103)
    assert here("groups", "sync", file).code in {0, 3}
    lone.pause(1)
    try:
        rehearsed = here("failover", file, "--dry-run", "-o", "json").json["plan"]
        assert rehearsed["source_gone"]
        assert (rehearsed["lost"], rehearsed["unknown"], rehearsed["again"]) == (3, 2, 0)
        done = here("failover", file, "--yes", "-o", "json").json
        assert (done["done"], done["fenced"], done["after"]["lost"]) == (True, 2, 3)
    finally:
        lone.resume(1)
    ends = end_offsets(lone.bootstrap, mirror.topic)
    assert ends[1] - 100 == 7
    back = here("failback", file, "--dry-run", *MASTER, "-o", "json").json
    assert (back["left_at_source"], back["undecided"]) == (7, 0)
    assert len(consume(target.bootstrap, mirror.topic, (0, 1))) == 200
