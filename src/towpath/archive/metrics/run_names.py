"""The names of all metrics of an archive's run.

The first seven are what kafka-replicator calls the same facts: its `egress.R.T.P.messages.written`
is `egress_messages_written_total` with the labels region, topic and partition here.
"""

from __future__ import annotations

from towpath.archive.metrics import compaction
from towpath.metering.metric import Metric, counter, gauge

_THEIRS = ("region", "topic", "partition")
_PLACE = ("topic", "partition")

MESSAGES_CONSUMED = counter(
    "egress_messages_consumed_total",
    "records",
    "Records that were read from the source by this run.",
    labels=_THEIRS,
)
MESSAGES_WRITTEN = counter(
    "egress_messages_written_total",
    "records",
    "Records that this run has read from the source and that are in the archive.",
    labels=_THEIRS,
)
MESSAGES_REWINDED = counter(
    "egress_messages_rewinded_total",
    "records",
    "Records that this run has read from the source in vain, as another writer archived them"
    " first.",
    labels=_THEIRS,
)
SEGMENTS_WRITTEN = counter(
    "egress_segments_written_total",
    "segments",
    "Segments that this run has added to the archive.",
    labels=_THEIRS,
)
SEGMENTS_REWINDED = counter(
    "egress_segments_rewinded_total",
    "segments",
    "Segments that this run has written in vain, as another writer archived their records first.",
    labels=_THEIRS,
)
SOURCE_ERRORS = counter(
    "kafka_consumer_errors_total",
    "errors",
    "Errors of the source in this run, counted each time that one makes an operation fail.",
)
STORE_ERRORS = counter(
    "s3_client_errors_total",
    "errors",
    "Errors of the store, of any kind of store, that this run has met, each time that something"
    " failed by one.",
)
ARCHIVE_INFO = gauge(
    "towpath_archive_info",
    "1",
    "Always 1; the labels tell the version of Towpath, the archive and its region.",
    labels=("version", "archive", "region"),
)
ARCHIVED_TO = gauge(
    "towpath_archived_to",
    "offsets",
    "The offset up to which the partition is archived, exclusive.",
    labels=_PLACE,
)
STABLE_END = gauge(
    "towpath_archive_stable_end",
    "offsets",
    "The last stable offset of the partition at the source.",
    labels=_PLACE,
)
ARCHIVE_LAG = gauge(
    "towpath_archive_lag_offsets",
    "offsets",
    "Number of offsets at the source that are not archived.",
    labels=_PLACE,
)
ARCHIVE_LAG_BYTES = gauge(
    "towpath_archive_lag_bytes",
    "bytes",
    "Approximate bytes at the source that are not archived, estimated from the size of what was"
    " archived before.",
    labels=_PLACE,
)
EXPOSED = gauge(
    "towpath_archive_rpo_seconds",
    "seconds",
    "Longest time that the oldest unarchived offset may have waited: the last records, in seconds,"
    " that a disaster at the source would destroy now. Values up to `segments.max_age` are normal.",
    labels=_PLACE,
)
ARCHIVE_GAPS = gauge(
    "towpath_archive_gap_offsets",
    "offsets",
    "Offsets of the archive without a record, by kind. Only `retention` and `lost` mean that"
    " records are missing. Other kinds have no series with 0.",
    labels=(*_PLACE, "kind"),
)
ARCHIVE_CUTS = gauge(
    "towpath_archive_source_cuts",
    "cuts",
    "Number of times that the source's log was truncated below the archived end, so that another"
    " history of the partition began.",
    labels=_PLACE,
)
ARCHIVE_PARTITIONS = gauge(
    "towpath_archive_partitions",
    "partitions",
    "Partitions of the archive by state.",
    labels=("state",),
)
ARCHIVE_VERSION = gauge(
    "towpath_archive_version", "versions", "The newest version of the commit log."
)
LAST_COMMIT = gauge(
    "towpath_archive_last_commit_timestamp_seconds",
    "seconds since 1970",
    "Time of the newest entry of the commit log; a run without news writes heartbeats.",
)
CYCLES = counter("towpath_archive_cycles_total", "cycles", "Cycles of the run that have ended.")
CYCLES_FAILED = counter(
    "towpath_archive_cycles_failed_total",
    "cycles",
    "Cycles of the run that failed as a whole, by the code of the error.",
    labels=("reason",),
)
FAILURES = counter(
    "towpath_archive_errors_total",
    "errors",
    "All errors that this run has met, by code: of partitions, of cycles and of the run itself.",
    labels=("reason",),
)
ARCHIVE_THROTTLED = counter(
    "towpath_archive_throttled_seconds_total",
    "seconds",
    "Time for which brokers of the source throttled this run.",
)
ARCHIVE_TROUBLE = gauge(
    "towpath_archive_trouble",
    "1",
    "1 while the run as a whole is in trouble, such as with a store that is away; else 0.",
)

ALL: tuple[Metric, ...] = (
    MESSAGES_CONSUMED,
    MESSAGES_WRITTEN,
    MESSAGES_REWINDED,
    SEGMENTS_WRITTEN,
    SEGMENTS_REWINDED,
    SOURCE_ERRORS,
    STORE_ERRORS,
    ARCHIVE_INFO,
    ARCHIVED_TO,
    STABLE_END,
    ARCHIVE_LAG,
    ARCHIVE_LAG_BYTES,
    EXPOSED,
    ARCHIVE_GAPS,
    ARCHIVE_CUTS,
    ARCHIVE_PARTITIONS,
    ARCHIVE_VERSION,
    LAST_COMMIT,
    CYCLES,
    CYCLES_FAILED,
    FAILURES,
    ARCHIVE_THROTTLED,
    ARCHIVE_TROUBLE,
    *compaction.ALL,
)
