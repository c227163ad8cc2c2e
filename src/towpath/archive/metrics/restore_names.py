"""The names of all metrics of a restore; those with `ingress_` are kafka-replicator's names."""

from __future__ import annotations

from towpath.metering.metric import Metric, counter, gauge

_THEIRS = ("region", "source", "topic", "partition")

MESSAGES_PRODUCED = counter(
    "ingress_messages_produced_total",
    "records",
    "Records that this run has restored.",
    labels=_THEIRS,
)
MESSAGES_LOST = gauge(
    "ingress_messages_lost",
    "offsets",
    "Archived offsets that are lost, as their part of the archive is missing or damaged.",
    labels=_THEIRS,
)
SEGMENTS_LOST = gauge(
    "ingress_segments_lost",
    "segments",
    "Parts of the archive that are missing or damaged, and that the restore continued without.",
    labels=_THEIRS,
)
SEGMENTS_LATE = gauge(
    "ingress_segments_late",
    "segments",
    "Missing parts of the archive for which the restore waits: at most one of each partition.",
    labels=_THEIRS,
)
SEGMENTS_READ = counter(
    "ingress_segments_read_total",
    "segments",
    "Archived segments that this run has restored. It stays 0 where records are placed by their"
    " keys.",
    labels=_THEIRS,
)
SEGMENTS_WAITING = gauge(
    "ingress_segments_waiting",
    "segments",
    "Archived segments that are not restored. It has no series where that is not known: without"
    " segments, and where records are placed by their keys.",
    labels=_THEIRS,
)
INGRESS_LAG = gauge(
    "ingress_lag_seconds",
    "seconds",
    "Age of the oldest archived segment that is not restored, by the time it was written; 0 if"
    " there is none. It grows while nothing is restored. It has no series where that is not known:"
    " without segments, and where records are placed by their keys.",
    labels=_THEIRS,
)
CHECKPOINT = gauge(
    "ingress_checkpoint",
    "offsets",
    "The last archived offset that is restored, inclusive. It has no series before the first one.",
    labels=_THEIRS,
)
RESTORE_INFO = gauge(
    "towpath_restore_info",
    "1",
    "Always 1; the labels tell the version of Towpath and the name of the restore.",
    labels=("version", "restore"),
)
RESTORED_TO = gauge(
    "towpath_restored_to",
    "offsets",
    "The archived offset up to which the partition is restored, exclusive.",
    labels=_THEIRS,
)
RESTORE_LAG = gauge(
    "towpath_restore_lag_offsets",
    "offsets",
    "Number of archived offsets that are not restored.",
    labels=_THEIRS,
)
RESTORE_LOST = gauge(
    "towpath_restore_lost_offsets",
    "offsets",
    "Archived offsets that are lost, and that the restore continued without.",
    labels=_THEIRS,
)
RESTORE_PARTITIONS = gauge(
    "towpath_restore_partitions",
    "partitions",
    "Partitions of the restore by state.",
    labels=("state",),
)
RESTORE_BYTES = gauge(
    "towpath_restore_bytes",
    "bytes",
    "Uncompressed size of all archived records that the restore includes.",
)
RESTORED_BYTES = gauge(
    "towpath_restored_bytes",
    "bytes",
    "Approximate uncompressed size of the archived records that are on the target.",
)
RESTORE_RATE = gauge(
    "towpath_restore_rate_bytes_per_second",
    "bytes per second",
    "Archived bytes restored per second, over the last half minute.",
)
RESTORE_ETA = gauge(
    "towpath_restore_eta_seconds",
    "seconds",
    "Seconds until the restore is complete, at the rate of the last half minute. It has no series"
    " while that is not known.",
)
RESTORE_LEFT_OUT = gauge(
    "towpath_restore_left_out",
    "things",
    "Topics, partitions and other things that are not restored.",
)
RESTORE_TROUBLE = gauge(
    "towpath_restore_trouble",
    "1",
    "1 while the restore as a whole is in trouble, such as with a target or a store that is away,"
    " or with a followed archive that is silent; else 0.",
)
TARGET_ERRORS = counter(
    "kafka_producer_errors_total",
    "errors",
    "Errors of the target in this run, each counted when it stops the progress of a partition.",
)
STORE_ERRORS = counter(
    "s3_client_errors_total",
    "errors",
    "Errors of the store, of any kind of store, that this run has met, each time that one came to"
    " hold up a partition, an archive that is followed, or the restore as a whole.",
)
SQS_RECEIVED = counter(
    "sqs_messages_received_total",
    "messages",
    "Messages of the queue (`restore.notify`) that this run has handled. It has no series without"
    " a queue.",
)
SQS_SUCCESS = counter(
    "sqs_messages_success_total",
    "messages",
    "Messages of the queue that this run has handled and that were notifications of S3. It has no"
    " series without a queue.",
)
SQS_INVALID = counter(
    "sqs_messages_invalid_total",
    "messages",
    "Messages of the queue that were no notifications of S3, and were deleted after `retries`"
    " attempts. It has no series without a queue.",
)

SQS_FAILED = counter(
    "sqs_messages_failed_total",
    "attempts",
    "Times that a message of the queue was no notification of S3, and was left for another attempt."
    " It has no series without a queue.",
)
SQS_ERRORS = counter(
    "sqs_client_errors_total",
    "errors",
    "Requests to the queue (`restore.notify`) that failed. It has no series without a queue.",
)
SQS_LAG = gauge(
    "sqs_messages_lag_seconds",
    "seconds",
    "Seconds from the creation of the object that the last message was about to the reading of that"
    " message. It has no series without a queue.",
)

ALL: tuple[Metric, ...] = (
    MESSAGES_PRODUCED,
    MESSAGES_LOST,
    SEGMENTS_LOST,
    SEGMENTS_LATE,
    SEGMENTS_READ,
    SEGMENTS_WAITING,
    INGRESS_LAG,
    CHECKPOINT,
    RESTORE_INFO,
    RESTORED_TO,
    RESTORE_LAG,
    RESTORE_LOST,
    RESTORE_PARTITIONS,
    RESTORE_BYTES,
    RESTORED_BYTES,
    RESTORE_RATE,
    RESTORE_ETA,
    RESTORE_LEFT_OUT,
    RESTORE_TROUBLE,
    TARGET_ERRORS,
    STORE_ERRORS,
    SQS_RECEIVED,
    SQS_SUCCESS,
    SQS_INVALID,
    SQS_FAILED,
    SQS_ERRORS,
    SQS_LAG,
)
