"""A run after a cutover: it goes on behind the clients' records, and says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.cutover.cuts import cuts
from towpath.mirror.plan.link_plan import build
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.partitions import status
from towpath.model.nouns import Mode


def row(mirror: Mirror) -> PartitionStatus:
    with open_link(mirror.config) as link:
        link.look()
        [found] = status(link.config, link.books, link.source, link.target)
    return found


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % n) for n in range(first, first + count)]


@pytest.mark.broker
def test_the_way_back_remains_and_is_told(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("cut"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, some(0, 10))
    mirror.catch_up()
    config = mirror.config
    for entry in cuts(config.link, [row(mirror)], ()):
        mirror.note(entry)
    assert row(mirror).clients_own == 0
    produce(target.bootstrap, mirror.topic, some(100, 4))
    assert row(mirror).clients_own == 4
    produce(source.bootstrap, mirror.topic, some(10, 3))
    assert any("unless the clients went back" in note.text for note in build(config).notes)
    [done] = mirror.catch_up()
    assert done.mode is Mode.MAPPED
    after = row(mirror)
    assert (after.clients_own, after.lag_records, after.error) == (4, 0, "")
    values = [record.value for record in consume(target.bootstrap, mirror.topic)]
    assert values == [record.value for record in (*some(0, 10), *some(100, 4), *some(10, 3))]
