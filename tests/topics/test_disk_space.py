"""Room on the disks of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.support.kafka import Record, create_topic, produce
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.admin.disks import DiskAdmin, Disks
from towpath.dev.broker import LocalCluster
from towpath.mirror.plan.link_plan import build
from towpath.model.findings import Cause
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import LinkConfig

pytestmark = pytest.mark.broker
KIB = 1024


@pytest.fixture
def config(source: LocalCluster, three: LocalCluster, new_name: Callable[[str], str]) -> LinkConfig:
    """Return a link over a topic of three partitions, with a mebibyte in its first one."""
    topic = create_topic(source.bootstrap, new_name("room"), 3)
    write(source, topic)
    return link(source.bootstrap, three.bootstrap, topic, replication_factor=2)


def write(cluster: LocalCluster, topic: str) -> None:
    produce(cluster.bootstrap, topic, [Record(None, bytes(KIB))] * KIB)


def free(monkeypatch: pytest.MonkeyPatch, size: int | None) -> None:
    """Let the target have so much room; what a disk has by itself no test can set."""
    real = DiskAdmin.describe

    def describe(self: DiskAdmin, topics: Mapping[TopicName, int]) -> Disks:
        found = real(self, topics)
        return replace(found, free=size) if self._control.side == Side.TARGET else found

    monkeypatch.setattr(DiskAdmin, "describe", describe)


def test_brokers_tell_of_their_disks(three: LocalCluster, new_name: Callable[[str], str]) -> None:
    name = TopicName(create_topic(three.bootstrap, new_name("room"), 3, replication=2))
    write(three, name)
    with Admin(link(three.bootstrap, "h:1", name).source, Side.SOURCE) as admin:
        found = admin.disks.describe({name: 3})
    assert found.free is not None
    assert found.free > KIB
    assert {tp: len(sizes) for tp, sizes in found.replicas.items()} == {
        TopicPartition(name, number): 2 for number in range(3)
    }
    assert KIB * KIB <= (found.size(TopicPartition(name, 0)) or 0) < 2 * KIB * KIB


def test_copies_need_as_much_as_their_topics_on_each_replica(
    config: LinkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(config).exit_code == 0
    free(monkeypatch, 1536 * KIB)
    plan = build(config)
    (told,) = plan.problems
    assert (told.about, told.cause, plan.exit_code) == ("target", Cause.SUBJECT, 3)
    assert "need about 2." in told.text
    assert "have 1.5 MiB free" in told.text
    free(monkeypatch, 3 * KIB * KIB)
    assert build(config).exit_code == 0


def test_brokers_that_do_not_tell_are_named(
    config: LinkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    free(monkeypatch, None)
    assert any("KIP-827" in note.text for note in build(config).notes)
