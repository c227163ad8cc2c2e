"""Rules that are asked for, and compaction by the schedules of a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.compacting import EAGER, here
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.kafka import wait_until
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.log import CommitLog
from towpath.archive.upkeep import compacting
from towpath.archive.upkeep.compacting import (
    CompactionWishes,
    ScheduledCompaction,
    archive_lease,
    rules_of,
)
from towpath.archive.upkeep.compaction_rounds import WORK, Compaction, CompactionProgress
from towpath.archive.upkeep.last_compaction import recording_compaction


def rules(*told: dict[str, Any]) -> tuple[CompactionConfig, ...]:
    return tuple(map(CompactionConfig.model_validate, told))


def test_a_file_without_rules_is_compacted_by_the_defaults() -> None:
    assert rules_of((), CompactionWishes()) == (CompactionConfig(),)
    (now,) = rules_of((), CompactionWishes(now=True))
    assert [now.min_age, now.min_count, now.min_size] == [0, 2, 1]


def test_a_level_takes_the_rules_that_have_it_and_no_other_level() -> None:
    given = rules({"max_level": 2, "min_age": "5m"}, {"min_level": 3, "max_level": 3})
    (found,) = rules_of(given, CompactionWishes(level=1))
    assert [found.min_level, found.max_level, found.min_age] == [1, 1, 300]
    (found,) = rules_of(given, CompactionWishes(level=9))
    assert [found.min_level, found.max_level, found.min_age] == [9, 9, 3600]


NOT_NOW = {"schedule": "@yearly", "min_age": "0s", "min_count": 2}
EVERY_SECOND = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 2}


class Slots:
    number = 4


@pytest.mark.slow
def test_a_schedule_compacts_and_waits_while_another_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = MixedArchive(tmp_path)
    records = old_records(20)
    for at in range(0, 20, 5):
        archive.own(records, at, at + 5)
    config = archive.config(compaction=[EVERY_SECOND, {"schedule": "@yearly"}])
    monkeypatch.setattr(compacting, "run_on", lambda *_: here)
    said: list[str] = []
    log = CommitLog.open(archive.store, REGION)
    made = ScheduledCompaction(config, log, lambda what, *_: said.append(what))
    slots: Any = Slots()
    with archive_lease(config, archive.store, WORK, threading.Event()):
        made.begin(None, slots)
        wait_until(lambda: made.counts.skipped > 0, "another process compacts")
        assert made.counts.success == 0
    wait_until(lambda: made.counts.success > 0, "it compacts")
    made.close()
    assert len(log.state.segments(partition())) == 1
    counts = made.counts
    assert (counts.read, counts.written, counts.errors, counts.running) == (4, 1, 0, False)
    assert {"compaction.elsewhere", "compaction.success"} <= set(said)
    assert made.trouble == ""


def damaged(folder: Path) -> tuple[MixedArchive, Callable[[], Any]]:
    """Return an archive that cannot be compacted, and what mends it."""
    archive = MixedArchive(folder)
    records = old_records(20)
    first, *_ = [archive.own(records, at, at + 5) for at in range(0, 20, 5)]
    assert first.place is not None
    path = archive.folder / "store" / first.place.key
    whole = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    return archive, lambda: path.write_bytes(whole)


def test_that_the_last_compaction_failed_is_told_until_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, mend = damaged(tmp_path)
    monkeypatch.setattr(compacting, "run_on", lambda *_: here)
    log = CommitLog.open(archive.store, REGION)
    made = ScheduledCompaction(archive.config(compaction=[EVERY_SECOND]), log, lambda *_: None)
    slots: Any = Slots()
    made.begin(None, slots)
    wait_until(lambda: made.counts.errors > 1 and made.counts.failed, "it fails")
    mend()
    wait_until(lambda: not made.counts.failed, "it succeeds")
    made.close()
    assert made.counts.success > 0
    assert len(log.state.segments(partition())) == 1


def test_a_run_that_begins_again_tells_that_the_last_compaction_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alert goes on over a restart, and ends when somebody compacts by hand."""
    archive, mend = damaged(tmp_path)
    monkeypatch.setattr(compacting, "_LONGEST", 0.1)
    log = CommitLog.open(archive.store, REGION)
    compacted_by_hand(archive)
    made = ScheduledCompaction(archive.config(compaction=[NOT_NOW]), log, lambda *_: None)
    slots: Any = Slots()
    made.begin(None, slots)
    try:
        wait_until(lambda: made.counts.failed, "it tells of the last one")
        assert "orders-0: " in made.trouble
        assert (made.counts.errors, made.counts.running) == (0, False)
        mend()
        compacted_by_hand(archive)
        wait_until(lambda: not made.counts.failed, "it hears of the new one")
        assert made.trouble == ""
    finally:
        made.close()


def compacted_by_hand(archive: MixedArchive) -> None:
    """Compact as `archive compact` does, which writes down how that ends."""
    stop, progress = threading.Event(), CompactionProgress()
    store, config = archive.store, archive.config()
    log = CommitLog.open(store, REGION)
    with (
        archive_lease(config, store, WORK, stop) as lease,
        recording_compaction(store, REGION, "compact", progress, stop),
    ):
        log.follow()
        work = Compaction(config, log, lease, here, lambda: 2, stop, progress, lambda _: None)
        work.go((EAGER,))
