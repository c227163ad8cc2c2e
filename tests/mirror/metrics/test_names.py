"""Names are an API: dashboards, alerts and other people's programs live on them."""

from __future__ import annotations

from pathlib import Path

from tests.support.pages.metrics import full, scrape
from towpath.cli.metrics_page import markdown
from towpath.mirror.metrics.names import ALL

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"

FROZEN = [
    ("redpanda_migrator_topics_created_total", "counter", "topics", ()),
    ("redpanda_migrator_topic_create_errors_total", "counter", "steps", ()),
    ("redpanda_migrator_topic_create_latency_ns", "summary", "nanoseconds", ()),
    ("redpanda_migrator_sr_schemas_created_total", "counter", "schemas", ()),
    ("redpanda_migrator_sr_schema_create_errors_total", "counter", "steps", ()),
    ("redpanda_migrator_sr_schema_create_latency_ns", "summary", "nanoseconds", ()),
    ("redpanda_migrator_sr_compatibility_updates_total", "counter", "updates", ()),
    ("redpanda_migrator_sr_compatibility_update_errors_total", "counter", "steps", ()),
    ("redpanda_migrator_sr_compatibility_update_latency_ns", "summary", "nanoseconds", ()),
    ("redpanda_lag", "gauge", "records", ("topic", "partition")),
    ("redpanda_migrator_cg_offsets_translated_total", "counter", "positions", ("group",)),
    ("redpanda_migrator_cg_offset_translation_errors_total", "counter", "positions", ("group",)),
    ("redpanda_migrator_cg_offset_translation_latency_ns", "summary", "nanoseconds", ("group",)),
    ("redpanda_migrator_cg_offsets_committed_total", "counter", "positions", ("group",)),
    ("redpanda_migrator_cg_offset_commit_errors_total", "counter", "positions", ("group",)),
    ("redpanda_migrator_cg_offset_commit_latency_ns", "summary", "nanoseconds", ("group",)),
    ("towpath_info", "gauge", "1", ("version", "link")),
    ("towpath_detail_info", "gauge", "1", ("detail",)),
    ("towpath_records_copied_total", "counter", "records", ("topic", "partition")),
    ("towpath_bytes_copied_total", "counter", "bytes", ("topic", "partition")),
    ("towpath_lag_records", "gauge", "records", ("topic", "partition")),
    ("towpath_unstable_offsets", "gauge", "offsets", ("topic", "partition")),
    ("towpath_stray_records", "gauge", "records", ("topic", "partition")),
    ("towpath_stray_offsets_not_kept", "gauge", "offsets", ("topic", "partition")),
    ("towpath_lag_seconds", "gauge", "seconds", ("topic", "partition")),
    ("towpath_gaps", "gauge", "gaps", ("topic", "partition")),
    ("towpath_gap_offsets", "gauge", "offsets", ("topic", "partition")),
    ("towpath_records_from_archive", "gauge", "records", ("topic", "partition")),
    ("towpath_records_deleted_on_target", "gauge", "records", ("topic", "partition")),
    ("towpath_quarantined_records", "gauge", "records", ("topic", "reason")),
    ("towpath_skipped_records", "gauge", "records", ("topic", "reason")),
    ("towpath_dropped_records", "gauge", "records", ("topic", "rule")),
    ("towpath_rewritten_parts", "gauge", "parts", ("topic", "what")),
    ("towpath_unchanged_ids", "gauge", "ids", ("topic", "reason")),
    ("towpath_partition_state", "gauge", "partitions", ("topic", "partition", "state")),
    ("towpath_partitions", "gauge", "partitions", ("state",)),
    ("towpath_mapped_partitions", "gauge", "partitions", ()),
    ("towpath_unknown_lag_partitions", "gauge", "partitions", ()),
    ("towpath_unknown_lag_time_partitions", "gauge", "partitions", ()),
    ("towpath_rounds_total", "counter", "rounds", ()),
    ("towpath_slots", "gauge", "slices", ()),
    ("towpath_round_seconds", "gauge", "seconds", ()),
    ("towpath_rounds_failed_total", "counter", "rounds", ("reason",)),
    ("towpath_steps_done_total", "counter", "steps", ("subject", "do")),
    ("towpath_steps_failed_total", "counter", "steps", ("subject", "do", "reason")),
    ("towpath_left_out", "gauge", "things", ("cause",)),
    ("towpath_throttled_seconds_total", "counter", "seconds", ("side",)),
    ("towpath_max_rate_bytes_per_second", "gauge", "bytes per second", ("topic",)),
    ("towpath_max_rate_wait_seconds_total", "counter", "seconds", ("topic",)),
    ("towpath_retention_held", "gauge", "topics", ()),
    ("towpath_link_state", "gauge", "1", ("state",)),
    ("towpath_events_lost_total", "counter", "events", ()),
    ("towpath_schema_ids_awaited", "gauge", "ids", ()),
    ("towpath_schema_ids_untranslated", "gauge", "ids", ("reason",)),
    ("towpath_groups_sync_age_seconds", "gauge", "seconds", ()),
    ("towpath_group_positions", "gauge", "positions", ("outcome",)),
    ("towpath_schemas_look_age_seconds", "gauge", "seconds", ()),
    ("towpath_schema_versions", "gauge", "versions", ("state",)),
    ("towpath_schemas_skipped", "gauge", "things", ("reason",)),
    ("towpath_registry_requests_total", "counter", "requests", ("side",)),
    ("towpath_trouble", "gauge", "1", ()),
    ("towpath_last_look_timestamp_seconds", "gauge", "seconds since 1970", ()),
]
"""Change an entry only together with a line in the changelog about what breaks."""


def test_names_kinds_units_and_labels_are_frozen() -> None:
    assert [(m.name, str(m.kind), m.unit, m.labels) for m in ALL] == FROZEN


def test_what_is_served_is_what_is_named() -> None:
    got = scrape(full())
    assert got.labels == {series: {*m.labels} for m in ALL for series in m.series}
    kinds = {family.name: (family.type, family.documentation) for family in got.families}
    assert kinds == {m.name.removesuffix("_total"): (m.kind, m.meaning) for m in ALL}


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == markdown(), (
        "stale; run: python -m towpath.cli.metrics_page > docs/metrics.md"
    )
