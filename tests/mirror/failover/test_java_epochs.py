"""A Java consumer that knows leader epochs of the source goes on on the target, and never hangs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.applications import JavaApplication
from tests.support.copying.quarantine import begin
from tests.support.here import Here
from tests.support.kafka import Record, end_offsets, produce, wait_for, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.soak]
ELECTIONS = 3


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=0) for i in range(first, first + count)]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_it_reads_each_record_once_behind_a_failover(
    tmp_path: Path,
    lone: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    protocol: str,
) -> None:
    """The leader epoch of the source is far above that of the target, which never heard of it.

    It may reset nothing: its first commit on the target is the one that the failover wrote.
    """
    mirror = Mirror(tmp_path, lone, target, new_name("epochs"), sections="groups: {}\n")
    mirror.create()
    topic, tp = mirror.topic, TopicPartition(TopicName(mirror.topic), 0)
    for number in range(ELECTIONS):
        produce(lone.bootstrap, topic, some(10 * number, 10))
        lone.kill9(1)
        lone.restart(1)
        wait_for(lambda: end_offsets(lone.bootstrap, topic)[1], 10 * (number + 1), "its end")
    produce(lone.bootstrap, topic, some(10 * ELECTIONS, 10))
    configs = {"auto.offset.reset": "earliest", "group.protocol": protocol}
    reader = JavaApplication(tmp_path, "consume", f"{topic}-group", topic, configs=configs)
    read = [each.value for each in some(0, 10 * ELECTIONS + 10)]
    try:
        reader.start({"bootstrap.servers": lone.bootstrap})
        wait_until(lambda: reader.read == read, "it has read all", 60)
        wait_until(lambda: reader.epoch > 0, "it has committed", 60)
        reader.stop()
        begin(mirror)
        file = str(tmp_path / f"{mirror.config.link}.yaml")
        assert here("groups", "sync", file).code in {0, 3}
        with Admin(mirror.config.target, Side.TARGET) as admin:
            there = admin.offsets.last_epochs([tp], patience=10.0)[tp]
        assert there < reader.epoch, "the target knows no such epoch"
        lone.kill9(1)
        try:
            done = here("failover", file, "--yes", "-o", "json")
            assert done.json["done"], done.said
        finally:
            lone.restart(1)
        produce(target.bootstrap, topic, some(900, 5))
        reader.configs = {"auto.offset.reset": "none", "group.protocol": protocol}
        reader.start({"bootstrap.servers": target.bootstrap})
        wanted = [*read, *(each.value for each in some(900, 5))]
        wait_until(lambda: len(reader.read) >= len(wanted), "it goes on", 60)
        reader.stop()
        assert reader.read == wanted
    finally:
        reader.kill()
