"""What the numbers say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.pages.metrics import ABOUT, STAND, full, scrape
from towpath.groups.counts import GroupCounts, counted_in
from towpath.metering.detail import LIMIT, chosen
from towpath.mirror.metrics.meter import Copied, LinkMeter, Tried
from towpath.mirror.metrics.stand import Stand, sums
from towpath.model.nouns import Detail, TopicName
from towpath.model.rates import RateLimits

ORDERS = {"topic": "orders"}


def test_everything_that_a_meter_was_told_is_served() -> None:
    got = scrape(full())
    first, second = {**ORDERS, "partition": "0"}, {**ORDERS, "partition": "1"}
    assert got.get("redpanda_migrator_topics_created_total") == 2
    assert got.get("redpanda_migrator_topic_create_errors_total") == 2
    assert got.get("redpanda_migrator_topic_create_latency_ns_count") == 2
    assert got.get("redpanda_migrator_topic_create_latency_ns_sum") == 5e8
    assert got.get("towpath_info", version="1.2.3", link="eu") == 1
    assert got.get("towpath_detail_info", detail="partition") == 1
    assert got.get("towpath_records_copied_total", **first) == 3, "10 were there before"
    assert got.get("towpath_bytes_copied_total", **first) == 60
    assert got.get("towpath_records_copied_total", **second) == 10, "it appeared later"
    for lag in ("redpanda_lag", "towpath_lag_records"):
        assert got.of(lag) == {("0", "orders"): 5}, "what is not known is not there"
    assert got.of("towpath_lag_seconds") == {("0", "orders"): 1.5}
    assert (got.get("towpath_gaps", **second), got.get("towpath_gaps", **first)) == (2, 0)
    assert got.get("towpath_gap_offsets", **second) == 9
    states = {("0", "behind", "orders"): 1, ("1", "stopped", "orders"): 1}
    assert got.of("towpath_partition_state") == states
    assert got.of("towpath_partitions") == {("behind",): 1, ("stopped",): 1}
    assert got.get("towpath_mapped_partitions") == 1
    assert got.get("towpath_unknown_lag_partitions") == 1
    assert got.get("towpath_rounds_total") == 1
    assert got.get("towpath_slots") == 4
    assert 0 <= (got.get("towpath_round_seconds") or 0.0) < 60
    assert got.get("towpath_rounds_failed_total", reason="CLUSTER") == 1
    assert got.of("towpath_steps_done_total") == {
        ("CreateTopic", "topics"): 3,
        ("AddPartitions", "topics"): 1,
    }
    refused = {"subject": "topics", "do": "CreateTopic", "reason": "CLUSTER_REFUSED"}
    assert got.get("towpath_steps_failed_total", **refused) == 1
    left_out = {("rights",): 2, ("topic",): 0, ("step",): 0, ("file",): 1}
    assert got.of("towpath_left_out") == left_out
    assert got.of("towpath_throttled_seconds_total") == {("source",): 2.5, ("target",): 0}
    limits = {("",): 2000, ("clicks",): 500}
    assert got.of("towpath_max_rate_bytes_per_second") == limits
    assert got.of("towpath_max_rate_wait_seconds_total") == {("",): 0.5, ("clicks",): 1.5}
    assert got.get("towpath_trouble") == 1
    group, of_groups = {"group": "g"}, "redpanda_migrator_cg_offset"
    assert got.get(f"{of_groups}s_translated_total", **group) == 6
    assert got.get(f"{of_groups}_translation_errors_total", **group) == 2
    assert got.get(f"{of_groups}_translation_latency_ns_count", **group) == 2
    assert got.get(f"{of_groups}_translation_latency_ns_sum", **group) == 100
    assert got.get(f"{of_groups}s_committed_total", **group) == 4
    assert got.get(f"{of_groups}_commit_errors_total", **group) == 2
    assert got.get(f"{of_groups}_commit_latency_ns_sum", **group) == 1400
    assert got.of("towpath_group_positions") == {("CONFIRMED",): 2, ("NOT_ATTEMPTED",): 1}
    assert 0 <= (got.get("towpath_groups_sync_age_seconds") or 0.0) < 60
    assert (got.get("towpath_last_look_timestamp_seconds") or 0) > 1.7e9


def test_what_becomes_of_records_is_told_by_topic() -> None:
    got = scrape(full())
    assert got.of("towpath_quarantined_records") == {("ID_ZERO", "orders"): 4}
    assert got.of("towpath_skipped_records") == {("RECORD_TOO_LARGE", "orders"): 1}
    assert got.of("towpath_dropped_records") == {("tombstones", "orders"): 6}
    rewritten = {("orders", "headers"): 3, ("orders", "ids"): 8}
    assert got.of("towpath_rewritten_parts") == rewritten
    assert got.of("towpath_unchanged_ids") == {("ID_NONE", "orders"): 2}


def test_a_meter_that_was_told_nothing() -> None:
    got = scrape(LinkMeter())
    assert got.of("towpath_partitions") == {("behind",): 0, ("stopped",): 0}
    assert got.get("towpath_round_seconds") is None
    assert got.get("towpath_last_look_timestamp_seconds") is None
    assert got.get("towpath_trouble") == 0


def test_limits_of_thousands_of_topics_have_no_series() -> None:
    meter = LinkMeter()
    topics = {TopicName(f"t{number}"): 5.0 for number in range(LIMIT + 1)}
    meter.limited(RateLimits(9, topics), {TopicName(""): 1.0, **topics})
    got = scrape(meter)
    assert got.of("towpath_max_rate_bytes_per_second") == {("",): 9}
    assert got.of("towpath_max_rate_wait_seconds_total") == {("",): 1}


def test_what_is_over_is_told_no_more() -> None:
    meter = full()
    meter.looked([replace(STAND, topic="other", incarnation=9)])
    meter.left_out({"topic": 1})
    meter.in_trouble(False)
    got = scrape(meter)
    assert "orders" not in got.text
    assert got.of("towpath_left_out") == {("rights",): 0, ("topic",): 1, ("step",): 0}
    assert got.get("towpath_trouble") == 0


def test_names_that_prometheus_would_read_otherwise() -> None:
    meter = LinkMeter()
    odd = 'a"b\\c\nd'
    meter.looked([replace(STAND, topic=odd)])
    assert scrape(meter).get("towpath_gaps", topic=odd, partition="0") == 0


def many(partitions: int, topics: int) -> tuple[Stand, ...]:
    return tuple(
        replace(STAND, topic=f"t{n % topics}", partition=n, incarnation=n)
        for n in range(partitions)
    )


@pytest.mark.parametrize(
    ("partitions", "topics", "detail", "series"),
    [
        (LIMIT, 2, Detail.PARTITION, LIMIT),
        (LIMIT + 1, 2, Detail.TOPIC, 2),
        (LIMIT + 1, LIMIT, Detail.TOPIC, LIMIT),
        (LIMIT + 1, LIMIT + 1, Detail.LINK, 1),
    ],
)
def test_large_links_have_no_more_series(
    partitions: int, topics: int, detail: Detail, series: int
) -> None:
    meter = LinkMeter()
    meter.looked(many(partitions, topics))
    got = scrape(meter)
    assert got.of("towpath_detail_info") == {(detail,): 1}
    assert len(got.of("towpath_lag_records")) == series
    assert sum(got.of("redpanda_lag").values()) == 5 * partitions
    assert sum(got.of("towpath_partition_state").values()) == partitions
    assert max(map(len, map(got.of, got.labels))) == max(series, 5)


def test_the_file_may_choose_another_detail() -> None:
    meter = LinkMeter()
    meter.looked(many(3, 2))
    got = scrape(meter, replace(ABOUT, detail=Detail.TOPIC))
    assert got.of("towpath_lag_records") == {("", "t0"): 10, ("", "t1"): 5}
    assert chosen(Detail.PARTITION, many(3, 2), limit=1) is Detail.PARTITION


STANDS = st.lists(
    st.builds(
        Stand,
        topic=st.sampled_from("ab"),
        partition=st.integers(0, 2),
        state=st.sampled_from(ABOUT.states),
        mapped=st.booleans(),
        incarnation=st.integers(-1, 5),
        records=st.integers(0, 9),
        bytes=st.integers(0, 9),
        lag_records=st.none() | st.integers(0, 9),
        lag_seconds=st.none() | st.floats(0, 9),
        gaps=st.integers(0, 9),
        gap_offsets=st.integers(0, 9),
    ),
    unique_by=lambda stand: (stand.topic, stand.partition),
)


@given(STANDS)
def test_each_detail_adds_up_to_the_same(stands: list[Stand]) -> None:
    copied = {(stand.topic, stand.partition): (stand.records, stand.bytes) for stand in stands}
    totals = set()
    for detail in (Detail.PARTITION, Detail.TOPIC, Detail.LINK):
        found = sums(detail, stands, copied).values()
        totals.add((
            sum(each.records for each in found),
            sum(each.bytes for each in found),
            sum(each.lag_records or 0 for each in found),
            max((each.lag_seconds or 0.0 for each in found), default=0.0),
            sum(each.gaps for each in found),
            sum(each.gap_offsets for each in found),
            sum(each.states.total() for each in found),
        ))  # fmt: skip
    assert len(totals) == 1
    assert all(
        (each.lag_records is None) == all(stand.lag_records is None for stand in stands)
        for each in sums(Detail.LINK, stands, copied).values()
    )


@given(st.lists(STANDS))
def test_what_was_copied_never_becomes_less(looks: list[list[Stand]]) -> None:
    copied = Copied()
    before: dict[tuple[str, int], tuple[int, int]] = {}
    for stands in looks:
        now = copied.look(stands)
        assert before.keys() <= now.keys()
        assert all(old[0] <= now[key][0] and old[1] <= now[key][1] for key, old in before.items())
        before = now


def test_a_copy_that_is_begun_anew_counts_on() -> None:
    copied = Copied()
    key = STAND.topic, STAND.partition
    assert copied.look([STAND])[key] == (0, 0), "earlier runs copied that"
    assert copied.look([replace(STAND, records=14, bytes=140)])[key] == (4, 40)
    again = replace(STAND, incarnation=8, records=3, bytes=30)
    assert copied.look([again])[key] == (7, 70)
    assert copied.look([])[key] == (7, 70)
    found = sums(Detail.TOPIC, [replace(STAND, partition=1)], copied.look([]))
    assert found["orders", ""].records == 7, "a partition that is gone was copied all the same"


def test_beyond_the_limit_all_groups_have_one_series_together() -> None:
    one = GroupCounts(committed=1, syncs=1)
    many = counted_in({}, {f"g{number}": one for number in range(LIMIT)})
    assert len(many) == LIMIT
    assert counted_in(many, {"g0": one})["g0"].committed == 2
    together = counted_in(many, {"another": one})
    assert together == {"": GroupCounts(committed=LIMIT + 1, syncs=LIMIT + 1)}
    assert counted_in(together, {"g0": one})[""].committed == LIMIT + 2


def test_schemas_are_counted_one_by_one() -> None:
    meter = LinkMeter()
    meter.registered(3, 1.5)
    meter.registered(1, 0.5)
    meter.configured(0.25)
    meter.tried(Tried("schemas", "RegisterSchemas", "REGISTRY_REFUSED"))
    meter.tried(Tried("schemas", "SetSubjectConfig", "REGISTRY_REFUSED"))
    got, start = scrape(meter), "redpanda_migrator_sr"
    assert got.get(f"{start}_schemas_created_total") == 4
    assert got.get(f"{start}_schema_create_errors_total") == 1
    assert got.get(f"{start}_schema_create_latency_ns_count") == 4
    assert got.get(f"{start}_schema_create_latency_ns_sum") == 2e9
    assert got.get(f"{start}_compatibility_updates_total") == 1
    assert got.get(f"{start}_compatibility_update_errors_total") == 1
    assert got.get(f"{start}_compatibility_update_latency_ns_sum") == 2.5e8


def test_what_registries_have_stays_known_while_one_is_away() -> None:
    got = scrape(full())
    assert got.of("towpath_schema_versions") == {("there",): 4}
    assert got.of("towpath_schemas_skipped") == {("conflict",): 2, ("registry",): 1}
    assert got.of("towpath_registry_requests_total") == {("source",): 12}
    assert 0 <= (got.get("towpath_schemas_look_age_seconds") or 0.0) < 60
