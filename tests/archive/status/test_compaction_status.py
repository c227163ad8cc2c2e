"""`archive status` tells what compaction has to do, when it ran last, and what it could not do."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.compacting import SPARK, compacted
from tests.support.archive.compacting import here as in_this_process
from tests.support.archive.mixed import REGION, MixedArchive
from tests.support.archive.stored import old_records
from tests.support.here import Here
from towpath.archive.keys import outcome_key
from towpath.archive.upkeep import compacting
from towpath.archive.upkeep.compacting import CompactionWishes, compact
from towpath.archive.upkeep.compaction_rounds import CompactionProgress
from towpath.archive.upkeep.last_compaction import last_compaction, recording_compaction
from towpath.model.errors import QueryError

EAGER = {"min_age": "0s", "min_count": 2}


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    made = MixedArchive(tmp_path)
    records = old_records(20)
    for at in range(0, 20, 5):
        made.own(records, at, at + 5)
    return made


def status(here: Here, archive: MixedArchive, code: int = 0) -> tuple[dict[str, Any], str]:
    """Return what the status says of compaction, as data and as text."""
    told = here("archive", "status", str(archive.file), "--no-source", "--output", "json")
    assert told.code == code, told.said
    found: dict[str, Any] = told.json["compaction"]
    return found, here("archive", "status", str(archive.file), "--no-source").out


def test_what_qualifies_and_when_a_run_applies_rules_next(
    archive: MixedArchive, here: Here
) -> None:
    archive.config()
    found, text = status(here, archive)
    assert (found["rules"], found["next"], found["last"]) == (0, None, None)
    assert found["qualifying"] == {"merges": 0, "segments": 0, "bytes": 0}
    assert "nothing qualifies now, by default rules" in text
    assert "nothing was ever merged" in text
    archive.config(compaction=[EAGER])
    found, text = status(here, archive)
    assert (found["qualifying"]["merges"], found["qualifying"]["segments"]) == (1, 4)
    assert found["qualifying"]["bytes"] == sum(
        each.place.size for each in archive.log.state.table() if each.place is not None
    )
    assert "4 segments of" in text
    assert "no rule has a schedule" in text
    archive.config(compaction=[{**EAGER, "schedule": "@daily"}])
    found, text = status(here, archive)
    assert found["next"] > 0
    assert "a run applies rules next at" in text


def test_a_compaction_of_an_older_towpath_is_known_by_what_it_merged(
    archive: MixedArchive, here: Here
) -> None:
    compacted(archive.config(grace="1h"), clean=False)
    found, text = status(here, archive)
    assert found["last"] is None
    assert found["merged"] > 0
    assert found["objects_waiting"] == 4
    assert "segments were merged last" in text
    assert "4 objects without segments wait for their deletion" in text


def test_the_last_compaction_is_told_with_what_it_could_not_merge(
    archive: MixedArchive, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    config: Any = archive.config(compaction=[EAGER])
    monkeypatch.setattr(compacting, "run_on", lambda *_: in_this_process)
    monkeypatch.setattr(compacting, "following", lambda *_: SPARK)
    damaged = archive.own(old_records(30), 20, 30)
    assert damaged.place is not None
    whole = archive.store.get(damaged.place.key)
    archive.store.put(damaged.place.key, whole[:-40] + bytes(40))
    archive.config(compaction=[EAGER])
    compact(config, CompactionWishes(), SPARK, threading.Event(), lambda _: None)
    found, text = status(here, archive, 3)
    assert (found["last"]["failures"], found["last"]["complete"]) == (1, False)
    assert "✗ orders-0 was not compacted: " in text
    archive.store.put(damaged.place.key, whole)
    archive.config(compaction=[EAGER])
    compact(config, CompactionWishes(), SPARK, threading.Event(), lambda _: None)
    found, text = status(here, archive)
    last = found["last"]
    assert (last["read"], last["written"], last["failures"], last["deleted"]) == (5, 1, 0, 5)
    assert (last["command"], last["complete"], found["running"]) == ("compact", True, False)
    assert "5 segments became 1, 5 objects deleted (`archive compact` on " in text
    assert "nothing qualifies now" in text


def test_an_error_and_a_stop_are_told_and_strange_bytes_are_nobodys(
    archive: MixedArchive,
) -> None:
    store, stop = archive.store, threading.Event()
    with (
        pytest.raises(QueryError),
        recording_compaction(store, REGION, "run", CompactionProgress(), stop),
    ):
        raise QueryError("something")
    last = last_compaction(store, REGION)
    assert last is not None
    assert "something" in last.why
    assert (last.command, last.stopped, last.complete) == ("run", False, False)
    stop.set()
    progress = CompactionProgress(failed={f"t-{n}": "damaged" for n in range(200)})
    with recording_compaction(store, REGION, "run", progress, stop):
        pass
    last = last_compaction(store, REGION)
    assert last is not None
    assert (last.stopped, last.failures, len(last.failed), last.why) == (True, 200, 100, "")
    assert last.failing
    for _ in range(2):  # what is stopped mends nothing, though it had no failure yet
        with recording_compaction(store, REGION, "run", CompactionProgress(), stop):
            pass
        last = last_compaction(store, REGION)
        assert last is not None
        assert (last.stopped, last.failures, last.failing) == (True, 0, True)
    stop.clear()
    with recording_compaction(store, REGION, "run", CompactionProgress(), stop):
        pass
    last = last_compaction(store, REGION)
    assert last is not None
    assert not last.failing
    store.put(outcome_key(REGION, "compact"), b"{")
    assert last_compaction(store, REGION) is None
