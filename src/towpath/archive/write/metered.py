"""Prometheus metrics of an archive's run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from towpath import __version__
from towpath.archive.config import ArchiveConfig
from towpath.archive.metrics.compaction import CompactionCounts
from towpath.archive.metrics.run_measure import AboutArchive, measured
from towpath.archive.metrics.run_meter import ArchiveCounts, ArchiveMeter, ArchiveStand
from towpath.archive.write.commits import Commits
from towpath.archive.write.progress import ArchiveProgress, ArchiveRowState
from towpath.archive.write.scheduling import Scheduler
from towpath.archive.write.standing import PartitionStanding
from towpath.metering.serving import served


@contextmanager
def telling_archive(config: ArchiveConfig) -> Iterator[ArchiveMeter]:
    """Return the run's meter, served for Prometheus if the file configures an address.

    Raises:
        ConfigError: The address of `metrics.listen` cannot be listened on.
    """
    meter = ArchiveMeter()
    about = AboutArchive(
        __version__, config.archive, config.region, config.metrics.detail, tuple(ArchiveRowState)
    )
    with served(
        config.metrics.address,
        meter,
        lambda: measured(meter.read(), about),
        root=config.metrics.root_path,
    ):
        yield meter


def reading(
    progress: ArchiveProgress,
    standings: Iterable[PartitionStanding],
    commits: Commits,
    scheduler: Scheduler,
    compaction: CompactionCounts,
) -> ArchiveCounts:
    """Return the current counts of a run.

    Args:
        progress: What the run shows; its rows are those of the partitions.
        standings: The partitions.
        commits: What was committed.
        scheduler: What was done for that.
        compaction: What was compacted beside it.
    """
    now = time.monotonic()
    states = {(row.topic, row.partition): row.state for row in progress.rows}
    return ArchiveCounts(
        stands=tuple(
            _stand(each, now, states[each.topic, each.id.partition]) for each in standings
        ),
        version=commits.version,
        committed=commits.time / 1000,
        cycles=progress.cycles,
        failed=dict(scheduler.failed),
        failures=dict(scheduler.failures),
        throttled=scheduler.throttled,
        trouble=bool(progress.trouble),
        compaction=compaction,
    )


def _stand(each: PartitionStanding, now: float, state: str) -> ArchiveStand:
    return ArchiveStand(
        topic=each.topic,
        partition=each.id.partition,
        state=state,
        archived_to=each.archived_to,
        stable_end=each.ends.stable_end,
        lag=each.lag,
        lag_bytes=each.lag * (each.density or 0.0),
        exposed=each.exposed(now),
        gaps=dict(each.gaps),
        records=each.run.records,
        segments=each.run.segments,
        redundant=each.redundant,
        rewound=each.rewound,
        cuts=each.id.history,
    )
