"""Markers that a client writes: they take offsets, and nobody sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, end_offsets, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import Marker
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError
from towpath.model.nouns import Mode, ProducerId, Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
ID = ProducerId((1 << 40) + 1)


def marker(epoch: int, coordinator_epoch: int) -> Marker:
    return Marker(ID, epoch, coordinator_epoch)


def test_each_partition_has_its_answer(version_target: LocalCluster, new_name: NewName) -> None:
    topic = TopicName(new_name("markers"))
    create_topic(version_target.bootstrap, topic, 2)
    first, second, unknown = (TopicPartition(topic, number) for number in (0, 1, 7))
    with Admin(ClusterConfig(bootstrap=version_target.addresses), Side.TARGET) as admin:
        assert admin.offsets.latest([first, second]) == {
            first: 0,
            second: 0,
        }  # it waits for the leaders
        assert admin.producers.marker_refusal() is None
        wanted = {first: [marker(3, 9)] * 5, second: [marker(2, 5)], unknown: [marker(1, 1)]}
        answers = admin.producers.write_markers(wanted, patience=10.0)
        assert answers.keys() == {first, second}, answers.failed
        assert "UNKNOWN_TOPIC_OR_PARTITION" in str(answers.failed[unknown])
        assert admin.offsets.log_ends([first, second]) == {first: 5, second: 1}
        [state] = admin.producers.states([first])[first]
        assert (state.id, state.epoch, state.coordinator_epoch) == (ID, 3, 9)
        for lower, code in ((marker(2, 10), 47), (marker(4, 8), 52)):
            error = admin.producers.write_markers({first: [lower]}, patience=10.0).failed[first]
            assert isinstance(error, RefusedError)
            assert error.error == code
        assert admin.producers.write_markers({first: [marker(3, 9)]}, patience=10.0) == {
            first: None
        }
    for isolation in ("read_committed", "read_uncommitted"):
        assert consume(version_target.bootstrap, topic, isolation=isolation) == []
    assert end_offsets(version_target.bootstrap, topic) == (0, 6)


def test_one_marker_too_many_makes_a_partition_mapped(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("stray"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(None, b"%d" % i) for i in range(5)])
    mirror.catch_up()
    tp = TopicPartition(TopicName(mirror.topic), 0)
    with Admin(ClusterConfig(bootstrap=target.addresses), Side.TARGET) as admin:
        assert admin.producers.write_markers({tp: [marker(0, 0)]}, patience=10.0) == {tp: None}
    produce(source.bootstrap, mirror.topic, [Record(None, b"%d" % i) for i in range(5, 9)])
    [done] = mirror.catch_up()
    assert done.mode is Mode.MAPPED
    assert "lies at target offset 6, not at its own 5" in done.reason
    assert [r.value for r in consume(target.bootstrap, mirror.topic)] == [
        b"%d" % number for number in range(9)
    ]
    assert mirror.books().offsets().runs == ((0, 0, 5), (5, 6, 4))
