"""The names of all metrics of a link's run. A test freezes them, for dashboards.

The first sixteen are those of Redpanda Connect's migrator, so that its dashboards live on.
"""

from __future__ import annotations

from towpath.metering.metric import counter, gauge, summary

_PLACE = ("topic", "partition")

TOPICS_CREATED = counter(
    "redpanda_migrator_topics_created_total",
    "topics",
    "Topics created on the target; without those that were there already.",
)
TOPIC_CREATE_ERRORS = counter(
    "redpanda_migrator_topic_create_errors_total",
    "steps",
    "Steps that should create a topic or let it grow, and failed.",
)
TOPIC_CREATE_LATENCY = summary(
    "redpanda_migrator_topic_create_latency_ns",
    "nanoseconds",
    "How long requests took that created topics, for each topic its share: the time of its request"
    " divided by the topics in it.",
)
SCHEMAS_CREATED = counter(
    "redpanda_migrator_sr_schemas_created_total",
    "schemas",
    "Versions of subjects that were registered on the target; without those that were there"
    " already.",
)
SCHEMA_CREATE_ERRORS = counter(
    "redpanda_migrator_sr_schema_create_errors_total",
    "steps",
    "Steps that should register versions of a subject, and failed.",
)
SCHEMA_CREATE_LATENCY = summary(
    "redpanda_migrator_sr_schema_create_latency_ns",
    "nanoseconds",
    "How long registrations of schemas took, for each version its share of its step.",
)
COMPATIBILITY_UPDATES = counter(
    "redpanda_migrator_sr_compatibility_updates_total",
    "updates",
    "Subjects of the target that got the compatibility, the mode or the normalization of the"
    " source.",
)
COMPATIBILITY_UPDATE_ERRORS = counter(
    "redpanda_migrator_sr_compatibility_update_errors_total",
    "steps",
    "Steps that should set the compatibility, the mode or the normalization of a subject, and"
    " failed.",
)
COMPATIBILITY_UPDATE_LATENCY = summary(
    "redpanda_migrator_sr_compatibility_update_latency_ns",
    "nanoseconds",
    "How long steps took that set the compatibility, the mode or the normalization of a subject.",
)
REDPANDA_LAG = gauge("redpanda_lag", "records", "The same as `towpath_lag_records`.", labels=_PLACE)

_GROUP = ("group",)
OFFSETS_TRANSLATED = counter(
    "redpanda_migrator_cg_offsets_translated_total",
    "positions",
    "Positions of the group that were translated to be written on the target. With more than 1,000"
    " groups the label is empty, and the value is their sum; so it is in all metrics of groups.",
    labels=_GROUP,
)
TRANSLATION_ERRORS = counter(
    "redpanda_migrator_cg_offset_translation_errors_total",
    "positions",
    "Positions of the group in mirrored topics that could not be translated, at each sync again.",
    labels=_GROUP,
)
TRANSLATION_LATENCY = summary(
    "redpanda_migrator_cg_offset_translation_latency_ns",
    "nanoseconds",
    "How long the translation of the group's positions took in each sync.",
    labels=_GROUP,
)
OFFSETS_COMMITTED = counter(
    "redpanda_migrator_cg_offsets_committed_total",
    "positions",
    "Positions of the group that were written on the target and read back.",
    labels=_GROUP,
)
COMMIT_ERRORS = counter(
    "redpanda_migrator_cg_offset_commit_errors_total",
    "positions",
    "Positions of the group whose write was refused, or not answered.",
    labels=_GROUP,
)
COMMIT_LATENCY = summary(
    "redpanda_migrator_cg_offset_commit_latency_ns",
    "nanoseconds",
    "How long writing the group's positions and reading them back took: its share of the sync.",
    labels=_GROUP,
)

INFO = gauge(
    "towpath_info", "1", "Which Towpath mirrors which link; always 1.", labels=("version", "link")
)
DETAIL = gauge(
    "towpath_detail_info",
    "1",
    "Whether each `partition`, each `topic` or the `link` has series of its own; always 1.",
    labels=("detail",),
)
RECORDS_COPIED = counter(
    "towpath_records_copied_total",
    "records",
    "Records that this run copied, as far as the ledger tells.",
    labels=_PLACE,
)
BYTES_COPIED = counter(
    "towpath_bytes_copied_total",
    "bytes",
    "Bytes of record batches, compressed as they are, that this run copied.",
    labels=_PLACE,
)
LAG_RECORDS = gauge(
    "towpath_lag_records",
    "records",
    "Source offsets that are not copied yet; no series where the source does not tell its end.",
    labels=_PLACE,
)
LAG_SECONDS = gauge(
    "towpath_lag_seconds",
    "seconds",
    "Age of the last copied record while there is lag, else 0, the largest of several partitions;"
    " no series where it is not known, or where it is 0 of some of them and not known of others.",
    labels=_PLACE,
)
GAPS = gauge(
    "towpath_gaps",
    "gaps",
    "Gaps that the ledger holds: ranges of source offsets that were lost before they were copied;"
    " without those that all groups had read before they were deleted.",
    labels=_PLACE,
)
GAP_OFFSETS = gauge(
    "towpath_gap_offsets",
    "offsets",
    "Source offsets in the gaps that `towpath_gaps` counts.",
    labels=_PLACE,
)
ARCHIVED_RECORDS = gauge(
    "towpath_records_from_archive",
    "records",
    "Records that came from an archive, as the source had deleted them (`records.on_gap: archive`),"
    " since the mirror topic was begun.",
    labels=_PLACE,
)
DELETED_RECORDS = gauge(
    "towpath_records_deleted_on_target",
    "records",
    "Records, at most, that were copied, that the target has deleted since, and that the source"
    " still has; without those that the source's own retention deletes soon, and without topics"
    " that `topics.may_delete` names.",
    labels=_PLACE,
)
QUARANTINED_RECORDS = gauge(
    "towpath_quarantined_records",
    "records",
    "Records of the topic that were put into quarantine, by the kind of the reason, since the"
    " mirror topic was begun (docs/quarantine.md); no series with 0. `topic` is empty where topics"
    " have no series of their own.",
    labels=("topic", "reason"),
)
SKIPPED_RECORDS = gauge(
    "towpath_skipped_records",
    "records",
    "Records of the topic that were left out without a copy (`undeliverable: skip`), by the kind of"
    " the reason, since the mirror topic was begun; no series with 0. `topic` is empty where topics"
    " have no series of their own.",
    labels=("topic", "reason"),
)
DROPPED_RECORDS = gauge(
    "towpath_dropped_records",
    "records",
    "Records of the topic that a rule under `changes.drop` left out, by the name of the rule, since"
    " the mirror topic was begun; no series with 0. `topic` is empty where topics have no series of"
    " their own.",
    labels=("topic", "rule"),
)
REWRITTEN_PARTS = gauge(
    "towpath_rewritten_parts",
    "parts",
    "What changes have written anew in records of the topic since the mirror topic was begun:"
    " `ids` of schemas, `headers` that were added or replaced, and values of headers that were"
    " `redacted`; no series with 0. `topic` is empty where topics have no series of their own.",
    labels=("topic", "what"),
)
UNCHANGED_IDS = gauge(
    "towpath_unchanged_ids",
    "ids",
    "Ids of schemas in records of the topic that passed unchanged although they should have become"
    " others, once for each record: malformed ones by the code of what is wrong (docs/changes.md),"
    " others by the reason for which the target has none (docs/schemas.md). They count since the"
    " mirror topic was begun; no series with 0. `topic` is empty where topics have no series of"
    " their own.",
    labels=("topic", "reason"),
)
PARTITION_STATE = gauge(
    "towpath_partition_state",
    "partitions",
    "1 with the state that the partition is in, as `towpath status` shows it; of a topic or link:"
    " how many partitions are in that state. No series with 0.",
    labels=(*_PLACE, "state"),
)
PARTITIONS = gauge(
    "towpath_partitions", "partitions", "Partitions of the link in each state.", labels=("state",)
)
MAPPED_PARTITIONS = gauge(
    "towpath_mapped_partitions",
    "partitions",
    "Partitions whose records have other offsets on the target.",
)
UNKNOWN_LAG = gauge(
    "towpath_unknown_lag_partitions",
    "partitions",
    "Partitions whose end the source does not tell now; they are missing in the lags.",
)
UNKNOWN_LAG_TIME = gauge(
    "towpath_unknown_lag_time_partitions",
    "partitions",
    "Partitions with a lag whose age is not known, as none of their records was copied yet; those"
    " without a known lag included.",
)
ROUNDS = counter("towpath_rounds_total", "rounds", "Rounds of copying that ended.")
SLOTS = gauge(
    "towpath_slots",
    "slices",
    "How many slices Spark runs at the same time; it follows executors that join or vanish.",
)
ROUND_SECONDS = gauge(
    "towpath_round_seconds",
    "seconds",
    "How long the last round of copying took; no series before one ended.",
)
ROUNDS_FAILED = counter(
    "towpath_rounds_failed_total",
    "rounds",
    "Rounds of copying that failed and were begun again, by the error's stable code.",
    labels=("reason",),
)
STEPS_DONE = counter(
    "towpath_steps_done_total",
    "steps",
    "Steps done on the target, by the words of `towpath plan`, such as `topics`, `CreateTopic`.",
    labels=("subject", "do"),
)
STEPS_FAILED = counter(
    "towpath_steps_failed_total",
    "steps",
    "Steps on the target that failed, by the words of `towpath plan` and the error's stable code;"
    " they are tried again.",
    labels=("subject", "do", "reason"),
)
LEFT_OUT = gauge(
    "towpath_left_out",
    "things",
    "Topics, ACLs and so on that are not mirrored, or not as far as they should be: for lack of"
    " `rights`, for the `topic`, the `file`, the `cluster`,"
    " another `subject` (a config or a user, say), or a failed `step`; and topics that the target"
    " `keeps less` of than the source, by settings that the link may not change.",
    labels=("cause",),
)
THROTTLED = counter(
    "towpath_throttled_seconds_total",
    "seconds",
    "How long brokers of the `source` and the `target` asked this run to wait, because of quotas;"
    " what they asked slices is added when their round ends.",
    labels=("side",),
)
MAX_RATE = gauge(
    "towpath_max_rate_bytes_per_second",
    "bytes per second",
    "The limits of copying that hold (`run.max_rate`, `towpath rate`): that of the link without"
    " `topic`, and those of topics while they are at most 1,000. No series where there is no"
    " limit.",
    labels=("topic",),
)
MAX_RATE_WAITS = counter(
    "towpath_max_rate_wait_seconds_total",
    "seconds",
    "How long slices waited for the limits of copying (`run.max_rate`, `towpath rate`), the seconds"
    " of all slices added up.",
    labels=("topic",),
)
RETENTION_HELD = gauge(
    "towpath_retention_held",
    "topics",
    "Topics that have caught up and from whose mirror topics retention or compaction stays held"
    " back, as the target would delete what the source keeps.",
)
EVENTS_LOST = counter(
    "towpath_events_lost_total",
    "events",
    "Events of this run that are missing in the topic `__towpath_events`.",
)
SCHEMA_IDS_AWAITED = gauge(
    "towpath_schema_ids_awaited",
    "ids",
    "Ids of schemas that records name and whose id on the target is not known yet; the partitions"
    " wait. No series without `schemas.ids: translate`.",
)
SCHEMA_IDS_UNTRANSLATED = gauge(
    "towpath_schema_ids_untranslated",
    "ids",
    "Ids in records for which it was decided that they have no id on the target, by the code of"
    " the reason (`towpath explain`).",
    labels=("reason",),
)
GROUPS_AGE = gauge(
    "towpath_groups_sync_age_seconds",
    "seconds",
    "How long ago the last sync of groups ended in which all were looked at and no answer was lost;"
    " before the first one, since the run began. No series where the file has no `groups`.",
)
GROUP_POSITIONS = gauge(
    "towpath_group_positions",
    "positions",
    "Positions of groups by what the last sync came to (docs/groups.md).",
    labels=("outcome",),
)
SCHEMAS_AGE = gauge(
    "towpath_schemas_look_age_seconds",
    "seconds",
    "How long ago both schema registries were looked at; before the first such look, since the run"
    " began. No series where the file has no `schemas`.",
)
SCHEMA_VERSIONS = gauge(
    "towpath_schema_versions",
    "versions",
    "Versions of the subjects that the file asks for, by whether the target has them: `there` or"
    " `missing`.",
    labels=("state",),
)
SCHEMAS_SKIPPED = gauge(
    "towpath_schemas_skipped",
    "things",
    "Subjects, versions and settings of subjects that are left out, by the reason"
    " (docs/schemas.md); `towpath schemas diff` names them.",
    labels=("reason",),
)
REGISTRY_REQUESTS = counter(
    "towpath_registry_requests_total",
    "requests",
    "Requests to the schema registries, by `side`, those that were repeated included.",
    labels=("side",),
)
TROUBLE = gauge(
    "towpath_trouble",
    "1",
    "1 while the run as a whole is in trouble, such as with a cluster that is away; else 0.",
)
LAST_LOOK = gauge(
    "towpath_last_look_timestamp_seconds",
    "seconds since 1970",
    "When both clusters and the ledger were last looked at; all partitions are told as of then.",
)

ALL = (
    TOPICS_CREATED,
    TOPIC_CREATE_ERRORS,
    TOPIC_CREATE_LATENCY,
    SCHEMAS_CREATED,
    SCHEMA_CREATE_ERRORS,
    SCHEMA_CREATE_LATENCY,
    COMPATIBILITY_UPDATES,
    COMPATIBILITY_UPDATE_ERRORS,
    COMPATIBILITY_UPDATE_LATENCY,
    REDPANDA_LAG,
    OFFSETS_TRANSLATED,
    TRANSLATION_ERRORS,
    TRANSLATION_LATENCY,
    OFFSETS_COMMITTED,
    COMMIT_ERRORS,
    COMMIT_LATENCY,
    INFO,
    DETAIL,
    RECORDS_COPIED,
    BYTES_COPIED,
    LAG_RECORDS,
    LAG_SECONDS,
    GAPS,
    GAP_OFFSETS,
    ARCHIVED_RECORDS,
    DELETED_RECORDS,
    QUARANTINED_RECORDS,
    SKIPPED_RECORDS,
    DROPPED_RECORDS,
    REWRITTEN_PARTS,
    UNCHANGED_IDS,
    PARTITION_STATE,
    PARTITIONS,
    MAPPED_PARTITIONS,
    UNKNOWN_LAG,
    UNKNOWN_LAG_TIME,
    ROUNDS,
    SLOTS,
    ROUND_SECONDS,
    ROUNDS_FAILED,
    STEPS_DONE,
    STEPS_FAILED,
    LEFT_OUT,
    THROTTLED,
    MAX_RATE,
    MAX_RATE_WAITS,
    RETENTION_HELD,
    EVENTS_LOST,
    SCHEMA_IDS_AWAITED,
    SCHEMA_IDS_UNTRANSLATED,
    GROUPS_AGE,
    GROUP_POSITIONS,
    SCHEMAS_AGE,
    SCHEMA_VERSIONS,
    SCHEMAS_SKIPPED,
    REGISTRY_REQUESTS,
    TROUBLE,
    LAST_LOOK,
)
