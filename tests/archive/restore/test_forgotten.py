"""Records that are erased from an archive while it is restored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.forgetting import forgotten
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from tests.support.kafka import consume
from towpath.archive.restore import jobs
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]
KEY = b"key 3"


@pytest.fixture
def stored(tmp_path: Path, target: LocalCluster, new_name: NewName) -> StoredArchive:
    return StoredArchive(tmp_path, new_name("shop"), target.bootstrap)


def test_what_is_erased_before_it_comes_back_is_proven_to_be_gone(
    stored: StoredArchive,
    target: LocalCluster,
    new_name: NewName,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, the target differed from the archive as it was when the restore began."""
    topic = new_name("orders")
    records = old_records(30)
    stored.put(topic, records, cuts=[10, 20])
    file, told = stored.file(), jobs.recording_events

    def erasing(*of: Any) -> AbstractContextManager[None]:
        assert forgotten(stored.config(), KEY).erased == 1
        return told(*of)

    monkeypatch.setattr("towpath.archive.restore.run.recording_events", erasing)
    ended = here.on_spark("restore", "run", str(file), "--verify", "--output", "json")
    assert ended.code == 0, ended.said
    assert ended.json["comparison"]["proven"]
    left = [each.key for each in consume(target.bootstrap, topic)]
    assert left == [each.key for each in records if each.key != KEY]


def test_what_came_back_before_it_was_erased_is_told(
    stored: StoredArchive, new_name: NewName, here: Here
) -> None:
    topic = new_name("orders")
    stored.describe(topic, {"retention.ms": "-1"})
    segment = stored.put(topic, old_records(30), cuts=[10, 20])[1]
    path = stored.path(segment)
    hidden = path.rename(path.with_suffix(".hidden"))
    file = stored.file(late={"looks": 1, "timeout": "100ms"})
    assert here.on_spark("restore", "run", str(file)).code == 3
    hidden.rename(path)
    assert forgotten(stored.config(), KEY).erased == 1
    ended = here.on_spark("restore", "run", str(stored.file()), "--verify", "--output", "json")
    assert ended.code == 3, ended.said
    [found] = ended.json["comparison"]["partitions"]
    assert (found["state"], found["records_restored"]) == ("different", 30)
    assert "1 record of it was erased from the archive (`archive forget`)" in found["why"]
