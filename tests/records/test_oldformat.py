"""Segments of magic 0 and 1, laid into a real broker's log folder, mirrored."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters import Clusters
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from tests.wire.test_legacy import message
from towpath.dev.broker import LocalCluster

OLD = (
    [message(0, i, b"k%d" % i, b"v%d" % i) for i in range(10)]
    + [message(1, i, b"k%d" % i, b"v%d" % i, time=1_600_000_000_000 + i) for i in range(10, 20)]
    + [
        message(
            1,
            29,
            None,
            gzip.compress(
                b"".join(
                    message(1, i, None, b"w%d" % i, time=1_600_000_001_000 + i) for i in range(10)
                )
            ),
            time=1_600_000_001_009,
            attributes=1,
        )
    ]
)


def lay(cluster: LocalCluster, topic: str, segment: bytes) -> None:
    """Put `segment` where the broker keeps the first segment of partition 0."""
    cluster.stop()
    [folder] = cluster.home.rglob(f"{topic}-0")
    for file in folder.iterdir():
        if file.suffix in {".index", ".timeindex", ".snapshot"} or "epoch" in file.name:
            file.unlink()
    (folder / "00000000000000000000.log").write_bytes(segment)
    for name in (
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        ".kafka_cleanshutdown",
    ):
        for file in cluster.home.rglob(name):
            file.unlink()
    cluster.start()


@pytest.mark.broker
def test_old_messages_become_batches_at_their_offsets(
    tmp_path: Path, clusters: Clusters, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    old = clusters.get("old-format")
    mirror = Mirror(tmp_path, old, target, new_name("old"))
    create_topic(old.bootstrap, mirror.topic)
    create_topic(target.bootstrap, mirror.topic)
    lay(old, mirror.topic, b"".join(OLD))
    produce(old.bootstrap, mirror.topic, [Record(b"new", b"batch", (), 1_700_000_000_000)])
    [done] = mirror.catch_up()
    assert (done.records, done.error) == (31, "")
    expected = consume(old.bootstrap, mirror.topic)
    assert len(expected) == 31
    # Magic 0 has no time; librdkafka shows that as 0, and the -1 of magic 2 as -1.
    timed = [replace(r, timestamp=r.timestamp if r.offset >= 10 else -1) for r in expected]
    assert consume(target.bootstrap, mirror.topic) == timed
