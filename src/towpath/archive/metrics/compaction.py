"""Counts of the compaction beside an archive's run, and the names of their metrics.

Those without our prefix are what kafka-replicator calls the same facts (`compaction.running`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from towpath.metering.metric import Metric, counter, gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCounts:
    """The counts of the compaction at one moment.

    Attributes:
        running: Whether a compaction goes on.
        failed: Whether the last one failed, or left partitions behind.
        success: Compactions that have ended well; `skipped`, those that another process did;
            `stopped`, those that the end of the run cancelled; `errors`, those that failed.
        seconds: How long all of them took.
        read: Segments that were merged; `written`, what they became; `bytes`, of their objects.
        deleted: Objects of replaced segments that were deleted; `orphans`, of no segment at all.
        unsettled: Objects of no segment that stay for now.
        damaged: Merges that failed as an object was damaged.
    """

    running: bool = False
    failed: bool = False
    success: int = 0
    skipped: int = 0
    stopped: int = 0
    errors: int = 0
    seconds: float = 0.0
    read: int = 0
    written: int = 0
    bytes: int = 0
    deleted: int = 0
    orphans: int = 0
    unsettled: int = 0
    damaged: int = 0


READ: Mapping[Metric, Callable[[CompactionCounts], float]] = {
    gauge("compaction_running", "1", "1 while a compaction runs; else 0."): lambda c: c.running,
    counter(
        "compaction_success_total", "compactions", "Scheduled compactions that ended well."
    ): lambda c: c.success,
    counter(
        "compaction_skipped_total",
        "compactions",
        "Scheduled compactions that were skipped, as another process compacted, pruned or forgot"
        " at the time.",
    ): lambda c: c.skipped,
    counter(
        "compaction_stopped_total",
        "compactions",
        "Scheduled compactions that were cancelled by the end of the run.",
    ): lambda c: c.stopped,
    counter(
        "compaction_errors_total",
        "compactions",
        "Scheduled compactions that failed, or could not merge the segments of some partitions.",
    ): lambda c: c.errors,
    gauge(
        "towpath_compaction_failed",
        "1",
        "1 if the last compaction failed, or could not merge the segments of some partitions; else"
        " 0.",
    ): lambda c: c.failed,
    counter(
        "compaction_duration_seconds_total", "seconds", "Total time of all compactions."
    ): lambda c: c.seconds,
    counter(
        "compaction_segments_read_total",
        "segments",
        "Segments that compactions merged into larger ones.",
    ): lambda c: c.read,
    counter(
        "compaction_segments_written_total",
        "segments",
        "Segments that compactions wrote in place of smaller ones.",
    ): lambda c: c.written,
    counter(
        "towpath_compaction_bytes_total", "bytes", "Bytes of the objects that compactions merged."
    ): lambda c: c.bytes,
    counter(
        "towpath_archive_deleted_objects_total",
        "objects",
        "Objects deleted from the store: replaced ones that no reader needs, and orphans of dead"
        " writers.",
    ): lambda c: c.deleted + c.orphans,
    counter(
        "s3_parquet_errors_total",
        "errors",
        "Merges of segments that failed because an object was damaged, in any format and any kind"
        " of store.",
    ): lambda c: c.damaged,
    gauge(
        "towpath_archive_orphans",
        "objects",
        "Objects that no entry of the commit log names, and that are not deleted yet: they are"
        " young, or their writer may still commit them. As of the last compaction.",
    ): lambda c: c.unsettled,
}

ALL: tuple[Metric, ...] = tuple(READ)
