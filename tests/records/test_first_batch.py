"""The first batch of a partition is refused: none behind it may get there before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.views import assert_same_view
from tests.support.kafka import Record, create_topic, end_offsets, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode, Side, TopicName

pytestmark = pytest.mark.broker


def test_a_first_record_that_is_too_large_is_not_overtaken(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("first"))
    create_topic(source.bootstrap, mirror.topic)
    create_topic(target.bootstrap, mirror.topic, 1, {"max.message.bytes": "20000"})
    produce(source.bootstrap, mirror.topic, [Record(b"large", b"x" * 50_000)])
    for number in range(5):
        produce(source.bootstrap, mirror.topic, [Record(b"small", b"%d" % number)])
    [done] = mirror.catch_up()
    assert "more than the target takes; raise max.message.bytes of" in done.error
    assert end_offsets(target.bootstrap, mirror.topic) == (0, 0)
    with Admin(mirror.config.target, Side.TARGET) as admin:
        admin.configs.change(TopicName(mirror.topic), {"max.message.bytes": "100000"})
    [done] = mirror.catch_up()
    assert (done.error, done.mode, done.records) == ("", Mode.IDENTICAL, 6)
    assert assert_same_view(mirror) == 6
