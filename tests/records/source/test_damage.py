"""Batches that are damaged in the source's log: their partition stops alone, and says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.copier import copier, endless, going
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refused
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import TopicName, TopicPartition

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
MAGIC_BEFORE = 61 - 16 + 6
"""Bytes between the magic of a batch of one record without key and the first byte of its value."""


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("damage"))


def value(number: int, size: int) -> bytes:
    return b"%06d" % number + b"." * size


def write(mirror: Mirror, size: int = 4) -> None:
    """Write batches of one record to two partitions."""
    records = [Record(None, value(i, size), (), 0, -1, i % 2) for i in range(12)]
    produce(mirror.source.bootstrap, mirror.topic, records, {"batch.num.messages": 1})


def change(mirror: Mirror, number: int, before: int = 0) -> None:
    """Change a byte on the source's disk, `before` the value of a record; twice heals it."""
    folder = mirror.source.home / "broker-1" / "data" / f"{mirror.topic}-{number % 2}"
    with (folder / "00000000000000000000.log").open("r+b") as log:
        at = log.read().index((b"%06d" % number)[1:]) - 1 - before
        log.seek(at)
        [byte] = log.read(1)
        log.seek(at)
        log.write(bytes([byte ^ 0x55]))


def values(cluster: LocalCluster, topic: str, partition: int) -> list[int]:
    return [int((r.value or b"")[:6]) for r in consume(cluster.bootstrap, topic, [partition])]


def assert_stopped_alone(mirror: Mirror) -> None:
    """Partition 0 stopped before its third record, and partition 1 is copied."""
    first, second = sorted(mirror.catch_up(), key=lambda done: done.tp)
    sentence = f"source: the record batch at offset 2 of {mirror.topic}-0 is damaged ("
    assert first.error.startswith(sentence), first.error
    assert first.error.endswith(
        "); look into the disks of the brokers, and make a replica that has it whole the leader"
    )
    assert (first.source_end, second.error) == (2, "")
    assert values(mirror.target, mirror.topic, 0) == [0, 2]
    assert values(mirror.target, mirror.topic, 1) == [1, 3, 5, 7, 9, 11]


@pytest.mark.parametrize(
    ("size", "before"),
    [(4, 0), (8000, 0), (4, MAGIC_BEFORE)],
    ids=["small, so merged", "sent on as it is", "no batch at all"],
)
def test_a_damaged_batch_stops_its_partition_alone(mirror: Mirror, size: int, before: int) -> None:
    mirror.create(2)
    write(mirror, size)
    change(mirror, 4, before)
    assert_stopped_alone(mirror)


def test_a_damaged_batch_that_must_be_opened(mirror: Mirror) -> None:
    config = {"message.timestamp.type": "LogAppendTime"}
    create_topic(mirror.source.bootstrap, mirror.topic, 2, config)
    create_topic(mirror.target.bootstrap, mirror.topic, 2)
    write(mirror)
    change(mirror, 4)
    assert_stopped_alone(mirror)


def test_a_damaged_batch_in_a_transaction(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> None:
    mirror = Refused(tmp_path, source, refusing_target, new_name("damage"))
    mirror.create(2)
    write(mirror)
    change(mirror, 4)
    assert_stopped_alone(mirror)


def test_a_batch_that_is_whole_at_a_later_look_is_copied(mirror: Mirror) -> None:
    mirror.create(2)
    write(mirror)
    change(mirror, 4)
    tp = TopicPartition(TopicName(mirror.topic), 0)
    work = endless(mirror.slices()[0])
    with copier(work, work.source, work.target) as made, going(made):
        wait_until(
            lambda: (
                tp in made.landing.lanes and "is damaged" in made.landing.lanes[tp].progress.error
            ),
            "it was seen",
        )
        change(mirror, 4)
        wait_until(lambda: made.landing.lanes[tp].progress.position.source == 6, "it is copied")
        assert made.landing.lanes[tp].progress.error == ""
    assert values(mirror.target, mirror.topic, 0) == [0, 2, 4, 6, 8, 10]
