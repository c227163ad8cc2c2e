"""The names of all metrics of a link's run. A test freezes them, for dashboards.

The first sixteen are those of Redpanda Connect's migrator, so that its dashboards live on.
"""

from __future__ import annotations

from towpath.metering.metric import counter, gauge, summary

_PLACE = ("topic", "partition")

TOPICS_CREATED = counter(
    "redpanda_migrator_topics_created_total",
    "topics",
    "Topics that were created on the target, not counting those that existed before.",
)
TOPIC_CREATE_ERRORS = counter(
    "redpanda_migrator_topic_create_errors_total",
    "steps",
    "Failed steps that should create a topic on the target, or add partitions to one.",
)
TOPIC_CREATE_LATENCY = summary(
    "redpanda_migrator_topic_create_latency_ns",
    "nanoseconds",
    "Time that requests to create topics on the target took; each topic counts with its share, the"
    " time of its request divided by the number of topics in it.",
)
SCHEMAS_CREATED = counter(
    "redpanda_migrator_sr_schemas_created_total",
    "schemas",
    "Versions of schemas that were registered on the target, not counting those that existed"
    " before.",
)
SCHEMA_CREATE_ERRORS = counter(
    "redpanda_migrator_sr_schema_create_errors_total",
    "steps",
    "Failed steps that should register versions of a schema on the target.",
)
SCHEMA_CREATE_LATENCY = summary(
    "redpanda_migrator_sr_schema_create_latency_ns",
    "nanoseconds",
    "Time that registrations of schemas on the target took; each version counts with its share of"
    " its step.",
)
COMPATIBILITY_UPDATES = counter(
    "redpanda_migrator_sr_compatibility_updates_total",
    "updates",
    "Changes of a subject's compatibility, mode or normalization on the target to that of the"
    " source.",
)
COMPATIBILITY_UPDATE_ERRORS = counter(
    "redpanda_migrator_sr_compatibility_update_errors_total",
    "steps",
    "Failed steps that should set a subject's compatibility, mode or normalization on the target.",
)
COMPATIBILITY_UPDATE_LATENCY = summary(
    "redpanda_migrator_sr_compatibility_update_latency_ns",
    "nanoseconds",
    "Time of steps that set a subject's compatibility, mode or normalization on the target.",
)
REDPANDA_LAG = gauge(
    "redpanda_lag",
    "records",
    "Source offsets that are not copied yet, with the name of Redpanda Connect's migrator; the"
    " values are those of `towpath_lag_records`.",
    labels=_PLACE,
)

_GROUP = ("group",)
OFFSETS_TRANSLATED = counter(
    "redpanda_migrator_cg_offsets_translated_total",
    "positions",
    "Positions of a consumer group that were translated to be written on the target. With more"
    " than 1,000 groups the label is empty, and the value is the sum of all groups.",
    labels=_GROUP,
)
TRANSLATION_ERRORS = counter(
    "redpanda_migrator_cg_offset_translation_errors_total",
    "positions",
    "Positions of a consumer group in mirrored topics that could not be translated; each sync"
    " counts them again. With more than 1,000 groups the label is empty, and the value is the sum"
    " of all groups.",
    labels=_GROUP,
)
TRANSLATION_LATENCY = summary(
    "redpanda_migrator_cg_offset_translation_latency_ns",
    "nanoseconds",
    "Time that each sync took to translate the positions of a consumer group. With more than 1,000"
    " groups the label is empty, and the values are the sums of all groups.",
    labels=_GROUP,
)
OFFSETS_COMMITTED = counter(
    "redpanda_migrator_cg_offsets_committed_total",
    "positions",
    "Positions of a consumer group that were written on the target and read back. With more than"
    " 1,000 groups the label is empty, and the value is the sum of all groups.",
    labels=_GROUP,
)
COMMIT_ERRORS = counter(
    "redpanda_migrator_cg_offset_commit_errors_total",
    "positions",
    "Positions of a consumer group whose write on the target was refused or not answered. With"
    " more than 1,000 groups the label is empty, and the value is the sum of all groups.",
    labels=_GROUP,
)
COMMIT_LATENCY = summary(
    "redpanda_migrator_cg_offset_commit_latency_ns",
    "nanoseconds",
    "Time to write the positions of a consumer group on the target and to read them back, as the"
    " group's share of the sync. With more than 1,000 groups the label is empty, and the values"
    " are the sums of all groups.",
    labels=_GROUP,
)

INFO = gauge(
    "towpath_info",
    "1",
    "Always 1; the labels tell the version of Towpath and the name of the link.",
    labels=("version", "link"),
)
DETAIL = gauge(
    "towpath_detail_info",
    "1",
    "Always 1; the label tells whether each `partition`, each `topic` or only the `link` has its"
    " own series.",
    labels=("detail",),
)
RECORDS_COPIED = counter(
    "towpath_records_copied_total",
    "records",
    "Records that this run copied to the target, as recorded in the ledger.",
    labels=_PLACE,
)
BYTES_COPIED = counter(
    "towpath_bytes_copied_total",
    "bytes",
    "Bytes of record batches that this run copied to the target, counted as they are compressed.",
    labels=_PLACE,
)
LAG_RECORDS = gauge(
    "towpath_lag_records",
    "records",
    "Source offsets that are not copied yet; no series while the end of the source's log is"
    " unknown.",
    labels=_PLACE,
)
UNSTABLE_OFFSETS = gauge(
    "towpath_unstable_offsets",
    "offsets",
    "Source offsets behind open transactions: consumers with isolation.level=read_committed do not"
    " see them, and they are copied once the transactions end. No lag counts them.",
    labels=_PLACE,
)
STRAY_RECORDS = gauge(
    "towpath_stray_records",
    "records",
    "Records that clients wrote to the source of a topic whose clients use the target, and that are"
    " kept aside in its salvage topic, replayed or not.",
    labels=_PLACE,
)
STRAY_OFFSETS = gauge(
    "towpath_stray_offsets_not_kept",
    "offsets",
    "Source offsets that clients wrote after the topic was promoted, and that are not kept aside"
    " yet: the source deletes them by its retention.",
    labels=_PLACE,
)
LAG_SECONDS = gauge(
    "towpath_lag_seconds",
    "seconds",
    "Age of the last copied record while there is lag, else 0; of several partitions the largest."
    " No series while it is unknown, or unknown for some partitions and 0 for all others.",
    labels=_PLACE,
)
GAPS = gauge(
    "towpath_gaps",
    "gaps",
    "Gaps in the ledger: ranges of source offsets that were deleted before they were copied, not"
    " counting those that all consumer groups had read before.",
    labels=_PLACE,
)
GAP_OFFSETS = gauge(
    "towpath_gap_offsets",
    "offsets",
    "Source offsets that were deleted before they were copied: those in the gaps that"
    " `towpath_gaps` counts.",
    labels=_PLACE,
)
ARCHIVED_RECORDS = gauge(
    "towpath_records_from_archive",
    "records",
    "Records that were copied from an archive since the mirror topic was created, as the source"
    " had deleted them (`records.on_gap: archive`).",
    labels=_PLACE,
)
DELETED_RECORDS = gauge(
    "towpath_records_deleted_on_target",
    "records",
    "Copied records, at most, that the target has deleted and the source still has; without those"
    " that the source's own retention deletes soon, and without topics that `topics.may_delete`"
    " names.",
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
    "1 for the state of the partition, as `towpath status` shows it; for a topic or link, the"
    " number of its partitions in each state. No series with 0.",
    labels=(*_PLACE, "state"),
)
PARTITIONS = gauge(
    "towpath_partitions", "partitions", "Partitions of the link in each state.", labels=("state",)
)
MAPPED_PARTITIONS = gauge(
    "towpath_mapped_partitions",
    "partitions",
    "Partitions whose records have other offsets on the target than at the source.",
)
UNKNOWN_LAG = gauge(
    "towpath_unknown_lag_partitions",
    "partitions",
    "Partitions whose log end at the source is unknown at present; the lag metrics do not count"
    " them.",
)
UNKNOWN_LAG_TIME = gauge(
    "towpath_unknown_lag_time_partitions",
    "partitions",
    "Partitions whose lag in seconds is unknown, as none of their records was copied yet, or as"
    " their log end at the source is unknown.",
)
ROUNDS = counter("towpath_rounds_total", "rounds", "Rounds of copying that have ended.")
SLOTS = gauge(
    "towpath_slots",
    "slices",
    "Number of slices that Spark can run at the same time; it changes as executors join or vanish.",
)
ROUND_SECONDS = gauge(
    "towpath_round_seconds",
    "seconds",
    "Duration of the last round of copying; no series before one has ended.",
)
ROUNDS_FAILED = counter(
    "towpath_rounds_failed_total",
    "rounds",
    "Rounds of copying that failed and were begun again, by the code of the error.",
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
    "Failed steps on the target, by the words of `towpath plan` and the code of the error; they"
    " are tried again.",
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
    "Time for which brokers of the `source` or the `target` asked this run to wait, because of"
    " quotas. The waits of a slice are added when its round ends.",
    labels=("side",),
)
MAX_RATE = gauge(
    "towpath_max_rate_bytes_per_second",
    "bytes per second",
    "Rate limits of copying in force (`run.max_rate`, `towpath rate`): that of the link with an"
    " empty `topic`, and those of topics while there are at most 1,000 of them. No series without"
    " a limit.",
    labels=("topic",),
)
MAX_RATE_WAITS = counter(
    "towpath_max_rate_wait_seconds_total",
    "seconds",
    "Time that slices waited because of the rate limits of copying (`run.max_rate`, `towpath"
    " rate`), summed over all slices.",
    labels=("topic",),
)
RETENTION_HELD = gauge(
    "towpath_retention_held",
    "topics",
    "Mirror topics that have caught up, but do not get the source's retention or compaction yet,"
    " as the target would then delete records that the source keeps.",
)
LINK_STATE = gauge(
    "towpath_link_state",
    "1",
    "1 for the state of the link (running, draining, sealed, failed_over, reversed), 0 for the"
    " others. A run ends soon after its link is sealed.",
    labels=("state",),
)
EVENTS_LOST = counter(
    "towpath_events_lost_total",
    "events",
    "Events of this run that could not be written to the topic `__towpath_events`.",
)
SCHEMA_IDS_AWAITED = gauge(
    "towpath_schema_ids_awaited",
    "ids",
    "Schema ids in records whose id on the target is not known yet, so that their partitions wait."
    " No series without `schemas.ids: translate`.",
)
SCHEMA_IDS_UNTRANSLATED = gauge(
    "towpath_schema_ids_untranslated",
    "ids",
    "Schema ids in records that have no id on the target, as was decided, by the code of the"
    " reason (`towpath explain`).",
    labels=("reason",),
)
GROUPS_AGE = gauge(
    "towpath_groups_sync_age_seconds",
    "seconds",
    "Time since the end of the last sync of consumer groups in which every group was read and no"
    " answer was lost; before the first one, time since the run began. No series if the file has"
    " no `groups`.",
)
GROUP_POSITIONS = gauge(
    "towpath_group_positions",
    "positions",
    "Positions of consumer groups, by the outcome of the last sync (docs/groups.md).",
    labels=("outcome",),
)
SCHEMAS_AGE = gauge(
    "towpath_schemas_look_age_seconds",
    "seconds",
    "Time since both schema registries were last read; before the first time, time since the run"
    " began. No series if the file has no `schemas`.",
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
    "Subjects, versions and settings of subjects that are not mirrored, by the reason"
    " (docs/schemas.md); `towpath schemas diff` names them.",
    labels=("reason",),
)
REGISTRY_REQUESTS = counter(
    "towpath_registry_requests_total",
    "requests",
    "Requests to the schema registries, by `side`, including repeated ones.",
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
    "Time at which both clusters and the ledger were last read; the values of all partitions are"
    " from that time.",
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
    UNSTABLE_OFFSETS,
    STRAY_RECORDS,
    STRAY_OFFSETS,
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
    LINK_STATE,
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
