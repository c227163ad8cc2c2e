"""`towpath restore` on a broker: what is restored, told, and left to be done again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archives import COMPACTOR
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from tests.support.kafka import Record as Produced
from tests.support.kafka import consume, create_topic, end_offsets, produce, topic_config
from towpath.archive.log import Draft, EntryKind
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]


@pytest.fixture
def stored(tmp_path: Path, target: LocalCluster, new_name: NewName) -> StoredArchive:
    return StoredArchive(tmp_path, new_name("shop"), target.bootstrap)


def restored(target: LocalCluster, topic: str, partition: int = 0) -> list[tuple[object, ...]]:
    return [
        (each.offset, each.key, each.value, each.headers, each.timestamp)
        for each in consume(target.bootstrap, topic, [partition])
    ]


def as_archived(records: object) -> list[tuple[object, ...]]:
    return [
        (each.offset, each.key, each.value, tuple((n.decode(), v) for n, v in each.headers),
         each.timestamp)
        for each in records  # type: ignore[attr-defined]
    ]  # fmt: skip


def test_topics_come_back_and_get_their_configs(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic, other = new_name("orders"), new_name("users")
    own = {"retention.ms": "8640000000", "cleanup.policy": "compact,delete"}
    stored.describe(topic, own, partitions=2)
    records = [each for each in old_records(60, 5) if each.offset % 9 != 3]
    stored.put(topic, records, cuts=[20, 41])
    stored.put(other, few := old_records(4, days=1), partition=0)
    file = str(stored.file())
    planned = here("restore", "plan", file, "--output", "json")
    assert planned.code == 0, planned.said
    assert {each["topic"]: each["records"] for each in planned.json["to_restore"]} == {
        topic: len(records),
        other: 4,
    }
    ended = here.on_spark("restore", "run", file, "--output", "json")
    assert ended.code == 0, ended.said
    assert ended.json["complete"]
    assert restored(target, topic) == as_archived(records)
    assert restored(target, other) == as_archived(few)
    assert end_offsets(target.bootstrap, topic, 1) == (0, 0)
    for key, value in own.items():
        assert topic_config(target.bootstrap, topic, key) == value
    again = here.on_spark("restore", "run", file)
    assert again.code == 0, again.said
    assert len(restored(target, topic)) == len(records)
    status = here("restore", "status", file, "--output", "json")
    assert status.code == 0, status.said
    assert status.json["complete"]
    assert not status.json["held_back"]
    assert status.json["archive"] is None, "a restore that has an end follows no archive"
    shown = here("restore", "status", file).out
    assert "followed" not in shown
    assert "silent" not in shown


def test_a_topic_that_holds_records_is_left_alone(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = create_topic(target.bootstrap, new_name("orders"))
    produce(target.bootstrap, topic, [Produced(b"mine", b"mine")])
    stored.put(topic, old_records(4))
    planned = here("restore", "plan", str(stored.file()))
    assert planned.code == 3, planned.said
    assert topic in planned.out
    ended = here.on_spark("restore", "run", str(stored.file()))
    assert ended.code == 3, ended.said
    assert [each.key for each in consume(target.bootstrap, topic)] == [b"mine"]


def test_a_lost_object_stops_its_partition_until_it_is_back(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "-1", "cleanup.policy": "compact"}, partitions=2)
    records = old_records(40)
    stored.put(topic, records, partition=1)
    segment = stored.put(topic, records, cuts=[10, 20])[1]
    path = stored.path(segment)
    hidden = path.rename(path.with_suffix(".hidden"))
    file = str(stored.file(late={"looks": 2, "timeout": "600ms"}))
    planned = here("restore", "plan", file)
    assert planned.code == 3, planned.said
    assert "lacks 1 object" in planned.out
    ended = here.on_spark("restore", "run", file, "--output", "json")
    assert ended.code == 3, ended.said
    assert restored(target, topic) == as_archived(records[:10])
    assert restored(target, topic, 1) == as_archived(records)
    assert topic_config(target.bootstrap, topic, "cleanup.policy") == "delete"
    status = here("restore", "status", file, "--output", "json")
    assert status.code == 3
    [row, other] = status.json["partitions"]
    assert (row["state"], row["restored_to"], other["state"]) == ("stopped", 10, "restored")
    assert row["codes"] == ["ARCHIVE_LOST", "ARCHIVE_MISSING"]
    assert "cleanup.policy" in status.json["held_back"][topic]
    assert "held back: cleanup.policy" in here("restore", "status", file).out
    hidden.rename(path)
    ended = here.on_spark("restore", "run", file)
    assert ended.code == 0, ended.said
    assert restored(target, topic) == as_archived(records)
    assert topic_config(target.bootstrap, topic, "cleanup.policy") == "compact"


def test_a_lost_object_can_be_skipped(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = new_name("orders")
    records = old_records(30)
    stored.path(stored.put(topic, records, cuts=[10, 20])[1]).unlink()
    late = {"looks": 1, "timeout": "100ms"}
    file = str(stored.file(late=late, lost="skip"))
    ended = here.on_spark("restore", "run", file, "--output", "json")
    assert ended.code == 3, ended.said
    assert restored(target, topic) == as_archived([*records[:10], *records[20:]])
    [row] = ended.json["partitions"]
    [gap] = row["gaps"]
    assert (gap["first"], gap["end"], row["state"]) == (10, 20, "restored")


@pytest.mark.parametrize("lost", ["halt", "skip"])
def test_what_was_pruned_before_it_came_back_is_told_at_once(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here, lost: str
) -> None:
    """Before, a restore that was started again went on behind it and said nothing."""
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "-1"})
    records = old_records(30)
    segments = stored.put(topic, records, cuts=[10, 20])
    path = stored.path(segments[1])
    path.rename(path.with_suffix(".hidden"))
    file = stored.file(late={"looks": 1, "timeout": "100ms"})
    assert here.on_spark("restore", "run", str(file)).code == 3
    gone = tuple(each.id for each in segments[:2])
    stored.log.append(Draft(writer=COMPACTOR, kind=EntryKind.PRUNE, remove=gone))
    stored.file(lost=lost)  # it would wait for a day
    planned = here("restore", "plan", str(file))
    assert planned.code == (3 if lost == "halt" else 0), planned.said
    assert "offsets 10 to 19 " in planned.out
    assert "they were pruned from the archive before this restore had them" in planned.out
    ended = here.on_spark("restore", "run", str(file), "--output", "json")
    assert ended.code == 3, ended.said
    left = [] if lost == "halt" else records[20:]
    assert restored(target, topic) == as_archived([*records[:10], *left])
    [row] = ended.json["partitions"]
    [gap] = row["gaps"]
    assert (gap["first"], gap["end"], gap["skipped"]) == (10, 20, lost == "skip")
    assert (row["state"], "ARCHIVE_PRUNED" in row["codes"]) == (
        "stopped" if lost == "halt" else "restored",
        True,
    )


def test_retention_that_would_delete_all_at_once_must_be_decided(
    stored: StoredArchive, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "86400000"})
    stored.put(topic, old_records(9))
    planned = here("restore", "plan", str(stored.file()))
    assert planned.code == 2, planned.said
    assert "would delete 9 of 9 records" in planned.out
    refused = here.on_spark("restore", "run", str(stored.file()))
    assert refused.code == 2, refused.said
    ended = here.on_spark("restore", "run", str(stored.file(retention="unlimited")))
    assert ended.code == 0, ended.said
    assert topic_config(target.bootstrap, topic, "retention.ms") == "-1"
    assert len(restored(target, topic)) == 9
