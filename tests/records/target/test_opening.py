"""Where a partition stands after a crash: what an earlier copier left, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.records import numbered
from tests.support.copying.chaos import Copiers, copy_without_receipts, endless
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    grow,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.cluster.metadata import Answers, ProducerState
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode, TopicPartition
from towpath.records.copy import copy

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("opening"))
    made.create()
    return made


def test_identical_says_why_not_where_a_crash_hid_another_writer(
    mirror: Mirror, copiers: Copiers
) -> None:
    mirror.records = {"offsets": "identical"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    mirror.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"foreign")])
    produce(mirror.source.bootstrap, mirror.topic, numbered(10, 20))
    copy_without_receipts(mirror, copiers, 21)
    produce(mirror.source.bootstrap, mirror.topic, numbered(20, 30), {"batch.num.messages": 1})
    for _ in range(2):
        [done] = mirror.catch_up()
        assert "offsets cannot stay identical: the record lies at target offset 11" in done.error
        assert (done.mode, done.source_end) == (Mode.IDENTICAL, 10)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 21)


def test_identical_stays_where_it_stopped_when_the_source_lost_what_a_crash_hid(
    mirror: Mirror, copiers: Copiers
) -> None:
    mirror.records = {"offsets": "identical", "on_gap": "record"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    copy_without_receipts(mirror, copiers, 10)
    delete_before(mirror.source.bootstrap, mirror.topic, 5)
    for _ in range(2):
        [done] = mirror.catch_up()
        assert "offsets cannot stay identical: offsets 0 to 4 are missing" in done.error
        assert (done.source_end, done.target_end) == (0, 0)


def test_where_the_target_stamps_times_hidden_records_are_found_by_content(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, copiers: Copiers
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("append"), records={"on_gap": "record"})
    create_topic(source.bootstrap, mirror.topic)
    create_topic(target.bootstrap, mirror.topic, 1, {"message.timestamp.type": "LogAppendTime"})
    produce(source.bootstrap, mirror.topic, numbered(0, 10))
    copy_without_receipts(mirror, copiers, 10)
    delete_before(source.bootstrap, mirror.topic, 5)
    produce(source.bootstrap, mirror.topic, numbered(10, 20))
    [done] = mirror.catch_up()
    assert (done.error, done.source_end) == ("", 20)
    there = [record.value for record in consume(target.bootstrap, mirror.topic)]
    assert there == [record.value for record in numbered(0, 20)]


def test_a_copier_that_goes_on_while_another_opens_is_not_a_loss(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes receipts between what the target and what the ledger is asked."""
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    mirror.catch_up()
    for cluster in (mirror.source, mirror.target):
        grow(cluster.bootstrap, mirror.topic, 2)
    ask = ProducerAdmin.states
    other: list[bool] = []

    def states(
        self: ProducerAdmin, tps: Iterable[TopicPartition], **options: Any
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        said = ask(self, tps, **options)
        if not other:
            other.append(True)
            produce(mirror.source.bootstrap, mirror.topic, numbered(10, 20))
            mirror.catch_up()
        return said

    [work] = mirror.slices(run_id="earlier")
    monkeypatch.setattr(ProducerAdmin, "states", states)
    assert [done.error for done in copy(work)] == ["", ""]
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 20)


def test_a_partition_whose_records_are_gone_keeps_no_other_waiting(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, copiers: Copiers
) -> None:
    """Retention on the target took what a crash had hidden from the ledger: that is no loss."""
    mirror = Mirror(tmp_path, source, target, new_name("gone"), timeout="8s")
    mirror.create(4)
    produce(
        source.bootstrap, mirror.topic, [Record(b"k", b"v", (), 0, -1, n % 4) for n in range(40)]
    )
    [work] = mirror.slices()
    copiers.start(replace(endless(work), receipts=3600.0))
    for partition in range(4):
        await_end(mirror, partition, 10)
    copiers.kill_all()
    for partition in range(3):
        delete_before(target.bootstrap, mirror.topic, 10, partition)
    copiers.start(endless(mirror.slices()[0]))
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"new", (), 0, -1, 3)])
    await_end(mirror, 3, 11, 16)  # one after the other they would take 24 s
    copiers.kill_all()
    assert {(each.source_end, each.error) for each in mirror.catch_up()} == {(10, ""), (11, "")}
    assert all(mirror.books(partition).receipt is not None for partition in range(3))


def test_what_is_left_of_a_forgotten_copier_is_not_doubled(
    mirror: Mirror, copiers: Copiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target's retention took the first of what a crash hid, and its brokers forgot us."""
    mirror.records = {"offsets": "mapped"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10), {"batch.num.messages": 1})
    copy_without_receipts(mirror, copiers, 10)
    ask = ProducerAdmin.states
    monkeypatch.setattr(
        ProducerAdmin,
        "states",
        lambda self, tps, **options: Answers(dict.fromkeys(ask(self, tps, **options), ()), {}),
    )
    delete_before(mirror.target.bootstrap, mirror.topic, 5)
    [done] = mirror.catch_up()
    assert (done.error, done.source_end) == ("", 10)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (5, 10)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert (receipt.records, receipt.target_end) == (10, 10)


def await_end(mirror: Mirror, partition: int, end: int, seconds: float = 30) -> None:
    wait_until(
        lambda: end_offsets(mirror.target.bootstrap, mirror.topic, partition)[1] == end,
        f"partition {partition} ends at {end}",
        seconds,
    )
