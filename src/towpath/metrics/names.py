"""Every metric: name, kind, unit, labels, meaning. A test freezes them, as dashboards live on them.

The first four are those of Redpanda Connect's migrator for topics, so that its dashboards live on.
No label holds anything of a record, a client or an error's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a metric, in the words of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    """Two series, their names ending in `_count` and `_sum`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def series(self) -> tuple[str, ...]:
        """Return the names of its series, as expressions use them."""
        if self.kind is Kind.SUMMARY:
            return (f"{self.name}_count", f"{self.name}_sum")
        return (self.name,)


_PLACE = ("topic", "partition")

TOPICS_CREATED = Metric(
    "redpanda_migrator_topics_created_total", Kind.COUNTER, "topics", (),
    "Topics created on the target; without those that were there already.",
)  # fmt: skip
TOPIC_CREATE_ERRORS = Metric(
    "redpanda_migrator_topic_create_errors_total", Kind.COUNTER, "steps", (),
    "Steps that should create a topic or let it grow, and failed.",
)  # fmt: skip
TOPIC_CREATE_LATENCY = Metric(
    "redpanda_migrator_topic_create_latency_ns", Kind.SUMMARY, "nanoseconds", (),
    "How long requests took that created topics, for each topic its share: the time of its request"
    " divided by the topics in it.",
)  # fmt: skip
REDPANDA_LAG = Metric(
    "redpanda_lag", Kind.GAUGE, "records", _PLACE,
    "The same as `towpath_lag_records`.",
)  # fmt: skip

INFO = Metric(
    "towpath_info", Kind.GAUGE, "1", ("version", "link"),
    "Which Towpath mirrors which link; always 1.",
)  # fmt: skip
DETAIL = Metric(
    "towpath_detail_info", Kind.GAUGE, "1", ("detail",),
    "Whether each `partition`, each `topic` or the `link` has series of its own; always 1.",
)  # fmt: skip
RECORDS_COPIED = Metric(
    "towpath_records_copied_total", Kind.COUNTER, "records", _PLACE,
    "Records that this run copied, as far as the ledger tells.",
)  # fmt: skip
BYTES_COPIED = Metric(
    "towpath_bytes_copied_total", Kind.COUNTER, "bytes", _PLACE,
    "Bytes of record batches, compressed as they are, that this run copied.",
)  # fmt: skip
LAG_RECORDS = Metric(
    "towpath_lag_records", Kind.GAUGE, "records", _PLACE,
    "Source offsets that are not copied yet; no series where the source does not tell its end.",
)  # fmt: skip
LAG_SECONDS = Metric(
    "towpath_lag_seconds", Kind.GAUGE, "seconds", _PLACE,
    "Age of the last copied record while there is lag, else 0, the largest of several partitions;"
    " no series where it is not known.",
)  # fmt: skip
GAPS = Metric(
    "towpath_gaps", Kind.GAUGE, "gaps", _PLACE,
    "Gaps that the ledger holds: ranges of source offsets that were lost before they were copied.",
)  # fmt: skip
GAP_OFFSETS = Metric(
    "towpath_gap_offsets", Kind.GAUGE, "offsets", _PLACE,
    "Source offsets in those gaps.",
)  # fmt: skip
PARTITION_STATE = Metric(
    "towpath_partition_state", Kind.GAUGE, "partitions", (*_PLACE, "state"),
    "1 with the state that the partition is in, as `towpath status` shows it; of a topic or link:"
    " how many partitions are in that state. No series with 0.",
)  # fmt: skip
PARTITIONS = Metric(
    "towpath_partitions", Kind.GAUGE, "partitions", ("state",),
    "Partitions of the link in each state.",
)  # fmt: skip
MAPPED_PARTITIONS = Metric(
    "towpath_mapped_partitions", Kind.GAUGE, "partitions", (),
    "Partitions whose records have other offsets on the target.",
)  # fmt: skip
UNKNOWN_LAG = Metric(
    "towpath_unknown_lag_partitions", Kind.GAUGE, "partitions", (),
    "Partitions whose end the source does not tell now; they are missing in the lags.",
)  # fmt: skip
ROUNDS = Metric(
    "towpath_rounds_total", Kind.COUNTER, "rounds", (),
    "Rounds that ended.",
)  # fmt: skip
SLOTS = Metric(
    "towpath_slots", Kind.GAUGE, "slices", (),
    "How many slices Spark runs at the same time; it follows executors that join or vanish.",
)  # fmt: skip
ROUND_SECONDS = Metric(
    "towpath_round_seconds", Kind.GAUGE, "seconds", (),
    "How long the last round took that ended; no series before.",
)  # fmt: skip
ROUNDS_FAILED = Metric(
    "towpath_rounds_failed_total", Kind.COUNTER, "rounds", ("reason",),
    "Rounds that failed and were begun again, by the error's stable code.",
)  # fmt: skip
STEPS_DONE = Metric(
    "towpath_steps_done_total", Kind.COUNTER, "steps", ("subject", "do"),
    "Steps done on the target, by the words of `towpath plan`, such as `topics`, `CreateTopic`.",
)  # fmt: skip
STEPS_FAILED = Metric(
    "towpath_steps_failed_total", Kind.COUNTER, "steps", ("subject", "do", "reason"),
    "Steps that failed, by the error's stable code; they are tried again.",
)  # fmt: skip
LEFT_OUT = Metric(
    "towpath_left_out", Kind.GAUGE, "things", ("cause",),
    "Topics, ACLs and so on that are not mirrored, or not as far as they should be: for lack of"
    " `rights`, for the `topic`, the `file`, the `cluster`,"
    " another `subject` (a config or a user, say), or a failed `step`.",
)  # fmt: skip
THROTTLED = Metric(
    "towpath_throttled_seconds_total", Kind.COUNTER, "seconds", ("side",),
    "How long brokers of the `source` and the `target` asked this run to wait, because of quotas;"
    " what they asked slices is added when their round ends.",
)  # fmt: skip
EVENTS_LOST = Metric(
    "towpath_events_lost_total", Kind.COUNTER, "events", (),
    "Events of this run that are missing in the topic `__towpath_events`.",
)  # fmt: skip
TROUBLE = Metric(
    "towpath_trouble", Kind.GAUGE, "1", (),
    "1 while the run as a whole is in trouble, such as with a cluster that is away; else 0.",
)  # fmt: skip
LAST_LOOK = Metric(
    "towpath_last_look_timestamp_seconds", Kind.GAUGE, "seconds since 1970", (),
    "When both clusters and the ledger were last looked at; all partitions are told as of then.",
)  # fmt: skip

ALL = (
    TOPICS_CREATED, TOPIC_CREATE_ERRORS, TOPIC_CREATE_LATENCY, REDPANDA_LAG, INFO, DETAIL,
    RECORDS_COPIED, BYTES_COPIED, LAG_RECORDS, LAG_SECONDS, GAPS, GAP_OFFSETS, PARTITION_STATE,
    PARTITIONS, MAPPED_PARTITIONS, UNKNOWN_LAG, ROUNDS, SLOTS, ROUND_SECONDS, ROUNDS_FAILED,
    STEPS_DONE, STEPS_FAILED, LEFT_OUT, THROTTLED, EVENTS_LOST, TROUBLE, LAST_LOOK,
)  # fmt: skip
