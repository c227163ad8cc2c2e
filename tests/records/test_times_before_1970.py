"""Records whose times are before 1970, or that have none: they are sent like any others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.views import assert_same_view
from tests.support.kafka import Record, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("time", [-1, -2, -62_135_596_800_001])
def test_records_before_1970_are_copied(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    time: int,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("past"))
    lenient = {"message.timestamp.before.max.ms": str(2**63 - 1), "retention.ms": "-1"}
    for cluster in (source, target):
        create_topic(cluster.bootstrap, mirror.topic, 1, lenient)
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v", timestamp=time)])
    [done] = mirror.catch_up()
    assert (done.error, done.mode, done.records) == ("", Mode.IDENTICAL, 1)
    assert assert_same_view(mirror) == 1
