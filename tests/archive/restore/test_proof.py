"""After a restore, the target is read back and compared with the archive by digests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Ended, Here
from tests.support.kafka import PATIENCE
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import SegmentFormat
from towpath.wire.plain import Record

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
NewName = Callable[[str], str]


class Drills:
    """Restores of archives into one target, each with a proof."""

    def __init__(self, folder: Path, target: LocalCluster, new_name: NewName, here: Here) -> None:
        self.folder, self.target, self.here = folder, target, here
        self.topic, self.name = new_name("orders"), new_name("shop")

    def archive(self, folder: str = "a", **more: Any) -> StoredArchive:
        (self.folder / folder).mkdir(exist_ok=True)
        return StoredArchive(self.folder / folder, self.name, self.target.bootstrap, **more)

    def restore(self, stored: StoredArchive, *words: str, **rules: Any) -> Ended:
        file = stored.file(retention="archived", **rules)
        more = "--verify", "--output", "json"
        return self.here.on_spark("restore", "run", str(file), *words, *more)

    def proven(self, ended: Ended) -> list[dict[str, Any]]:
        assert ended.code == 0, ended.said
        assert ended.json["comparison"]["proven"], ended.json["comparison"]
        found: list[dict[str, Any]] = ended.json["comparison"]["partitions"]
        return found


@pytest.fixture
def drills(tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here) -> Drills:
    return Drills(tmp_path, target, new_name, here)


def with_holes(count: int) -> list[Record]:
    return [each for each in old_records(count, 5) if each.offset % 9 != 3]


@pytest.mark.parametrize("kind", list(SegmentFormat))
def test_a_range_with_holes_is_proven(drills: Drills, kind: SegmentFormat) -> None:
    """Both ends are within segments, whose records are read for it."""
    stored = drills.archive(kind=kind)
    records = with_holes(60)
    stored.put(drills.topic, records, cuts=[20, 41])
    [found] = drills.proven(drills.restore(stored, "--from", "11", "--to", "50"))
    assert found["records_restored"] == sum(11 <= each.offset < 50 for each in records)
    assert found["digest_archived"] == found["digest_restored"]


def test_mapped_and_filtered_records_are_proven(drills: Drills) -> None:
    stored = drills.archive()
    records = with_holes(60)
    stored.put(drills.topic, records, cuts=[20, 41])
    drop = [{"topics": [drills.topic], "drop": [{"key": {"prefixes": ["key 1"]}}]}]
    [found] = drills.proven(drills.restore(stored, filter=drop, offsets="mapped"))
    kept = [each for each in records if not (each.key or b"").startswith(b"key 1")]
    assert found["records_archived"] == found["records_restored"] == len(kept) < len(records)


def test_records_placed_by_keys_are_proven_as_a_whole(drills: Drills) -> None:
    stored = drills.archive()
    for partition in range(2):
        stored.put(drills.topic, old_records(40), partition=partition)
    placed = [{"topics": [drills.topic], "count": 3, "place": "key"}]
    [found] = drills.proven(drills.restore(stored, partitions=placed))
    assert (found["partition"], found["records_restored"]) == (None, 80)


def test_another_record_is_told(drills: Drills) -> None:
    """The archive that is compared with has another record than the one that was restored."""
    stored, other = drills.archive(), drills.archive("b")
    records = old_records(30)
    stored.put(drills.topic, records, cuts=[10, 20])
    swapped = [replace(e, value=b"another one") if e.offset == 14 else e for e in records]
    other.put(drills.topic, swapped, cuts=[10, 20])
    file = stored.file(retention="archived")
    first = drills.here.on_spark("restore", "run", str(file), "--no-verify", "--output", "json")
    assert first.code == 0, first.said
    assert not first.json["comparison"]["partitions"]
    told = drills.restore(other)
    assert told.code == 3, told.said
    [found] = told.json["comparison"]["partitions"]
    assert found["state"] == "different"
    assert "30 records as in the archive, and at least one of them is another one" in found["why"]
    assert any("the target differs from the archive" in each for each in told.json["left_out"])
    assert not told.json["complete"]


def test_what_the_target_has_deleted_since_is_not_proven(drills: Drills) -> None:
    stored = drills.archive()
    stored.describe(drills.topic, {"retention.ms": "-1"})
    stored.put(drills.topic, old_records(30), cuts=[10])
    drills.proven(drills.restore(stored))
    admin = AdminClient({"bootstrap.servers": drills.target.bootstrap})
    part = TopicPartition(drills.topic, 0, 12)
    for each in admin.delete_records([part]).values():
        each.result(PATIENCE)
    again = drills.restore(stored)
    assert again.code == 3, again.said
    [found] = again.json["comparison"]["partitions"]
    assert found["state"] == "not compared"
    assert "the target has deleted its records before offset 12 since" in found["why"]
    assert again.json["complete"], "it is restored, and that cannot be proven now"
