"""Segments of magic 0 and 1, laid into a real broker's log folder, mirrored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.logs.old_messages import OLD, lay
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster


@pytest.mark.broker
def test_old_messages_become_batches_at_their_offsets(
    tmp_path: Path, lone: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, lone, target, new_name("old"))
    create_topic(lone.bootstrap, mirror.topic)
    create_topic(target.bootstrap, mirror.topic)
    lay(lone, mirror.topic, b"".join(OLD))
    produce(lone.bootstrap, mirror.topic, [Record(b"new", b"batch", (), 1_700_000_000_000)])
    [done] = mirror.catch_up()
    assert (done.records, done.error) == (31, "")
    expected = consume(lone.bootstrap, mirror.topic)
    assert len(expected) == 31
    # Magic 0 has no time; librdkafka shows that as 0, and the -1 of magic 2 as -1.
    timed = [replace(r, timestamp=r.timestamp if r.offset >= 10 else -1) for r in expected]
    assert consume(target.bootstrap, mirror.topic) == timed
