"""Compactions of archives in a folder, without Spark, and what an archive holds afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.support.archive.segments import seen
from tests.support.logs.logs import Seen
from towpath.archive.config import ArchiveConfig
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.format.either_format import read_object
from towpath.archive.log import ArchiveState, CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import WORK, Compaction, CompactionProgress
from towpath.archive.upkeep.slice.compact_slice import compact
from towpath.archive.upkeep.slice.compact_work import CompactResult, CompactSlice
from towpath.archive.upkeep.tidying import tidy
from towpath.store import Store

EAGER = CompactionConfig.model_validate({"min_age": "0s", "min_count": 2, "min_size": "1B"})
"""A rule that waits for nothing."""


class IdleSpark:
    """Stands for a session that nobody asks anything."""

    number = 2

    def require_allowed(self) -> None:
        """Do nothing."""

    def result(self) -> None:
        """Do nothing."""


SPARK: Any = IdleSpark()


def here(slices: Sequence[CompactSlice], told: Callable[[int, int], None]) -> list[CompactResult]:
    """Run slices in this process."""
    found = [CompactResult.from_json(each.to_json()) for work in slices for each in compact(work)]
    told(len(slices), len(slices))
    return found


def compacted(
    config: ArchiveConfig,
    *rules: CompactionConfig,
    run: Any = here,
    slots: int = 2,
    clean: bool = True,
) -> CompactionProgress:
    """Compact an archive by rules, and delete what is unused."""
    stop = threading.Event()
    with Store(config.store) as store:
        log = CommitLog.open(store, config.region)
        with archive_lease(config, store, WORK, stop) as lease:
            log.follow()
            progress = CompactionProgress()
            work = Compaction(
                config, log, lease, run, lambda: slots, stop, progress, lambda _: None
            )
            work.go(rules or (EAGER,))
            if clean:
                tidy(config, log, lease, progress)
            return progress


def held_records(store: Store, state: ArchiveState, partition: PartitionId) -> list[Seen]:
    """Return the archived records of a partition, whose segments tile and are what objects say."""
    found: list[Seen] = []
    at = state.partitions[partition].begin
    for segment in state.segments(partition):
        assert segment.problem is None
        assert segment.start == at
        at = segment.end
        if segment.place is None:
            continue
        file = read_object(segment.format, store.reader(segment.place.key), segment.place.key)
        footer = file.segment(segment.place.first_row_group)
        said = footer.segment(segment.format, segment.place)
        # What `archive recover` took in counts as from Kafka.
        assert said == segment or (segment.level == 0 and replace(said, level=0) == segment)
        assert store.head(segment.place.key).size == segment.place.size
        file.check(footer)
        found += seen(file.rows(footer))
        file.close()
    assert at == state.partitions[partition].archived_to
    return found


def objects(store: Store, region: str) -> set[str]:
    """Return the keys of all objects with segments."""
    return {each.key for each in store.list() if "/_log/" not in each.key and region in each.key}
