"""What a target would delete that the source has is foretold, whatever the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.kafka_retention import Batch, Log
from tests.support.session.examples import examples
from towpath.model.reasons import ReasonCode
from towpath.settings import ConfigRules
from towpath.topics.foresight import Foresight
from towpath.topics.retention import MOST_AHEAD, LogSeen, TopicSeen, foresee

KEPT = {
    "cleanup.policy": "delete",
    "retention.ms": "1000",
    "retention.bytes": "-1",
    "segment.ms": "500",
    "segment.bytes": "1000",
}
RULES = ConfigRules()
FULL = LogSeen(first=10, end=30, fresh=25, timed=10, bytes=900, mirrored=900)


def seen(log: LogSeen = FULL, ahead: int | None = 0) -> TopicSeen:
    return TopicSeen(logs={0: log}, ahead=ahead)


def codes(found: Foresight) -> list[str]:
    return [str(reason.code) for reason in found.reasons]


def test_alike_topics_are_released_and_what_is_past_both_is_told() -> None:
    found = foresee(KEPT, KEPT, seen(), RULES)
    assert (found.reasons, found.ranges, found.offsets) == ((), {0: (10, 25)}, 15)
    assert not found.keeps


@pytest.mark.parametrize(
    "final",
    [
        {**KEPT, "retention.ms": "2000"},
        {**KEPT, "retention.ms": "-1"},
        {**KEPT, "segment.ms": "501", "segment.bytes": "1001"},
        {**KEPT, "cleanup.policy": ""},
    ],
)
def test_a_target_that_keeps_more_is_no_reason(final: dict[str, str]) -> None:
    assert not foresee(KEPT, final, seen(), RULES).keeps


@pytest.mark.parametrize(
    ("source", "final", "rules", "text"),
    [
        (
            {**KEPT, "cleanup.policy": "compact"},
            {**KEPT, "cleanup.policy": "compact,delete"},
            {"override": {"cleanup.policy": "compact,delete"}},
            "retention.ms would be 1000 on the target and has no effect at the source"
            " (cleanup.policy is compact): `topics.configs.override` sets cleanup.policy",
        ),
        (
            KEPT,
            {**KEPT, "retention.ms": "5"},
            {"override": {"retention.ms": "5"}},
            "retention.ms would be 5 on the target and is 1000 at the source:"
            " `topics.configs.override` sets retention.ms",
        ),
        (
            KEPT,
            {**KEPT, "retention.bytes": "100"},
            {"exclude": ["retention.*"]},
            "retention.bytes would be 100 on the target and is -1 at the source:"
            " `topics.configs` does not copy retention.bytes",
        ),
        (
            {**KEPT, "retention.ms": "-1"},
            KEPT,
            {},
            "retention.ms would be 1000 on the target and is -1 at the source: the target does not"
            " take the source's value",
        ),
        (
            KEPT,
            {**KEPT, "segment.bytes": "999"},
            {},
            "segment.bytes would be 999 on the target and is 1000 at the source, so old records"
            " would lie in older segments there",
        ),
        (
            KEPT,
            {**KEPT, "segment.jitter.ms": "100"},
            {},
            "segment.ms would be 400 on the target and is 500 at the source, so old records would"
            " lie in older segments there",
        ),
    ],
)
def test_each_difference_of_configs_is_named(
    source: dict[str, str], final: dict[str, str], rules: dict[str, object], text: str
) -> None:
    found = foresee(source, final, seen(), ConfigRules.model_validate(rules))
    assert list(map(str, found.reasons)) == [text]
    assert found.keeps
    assert found.offsets


def test_an_empty_policy_of_the_source_keeps_for_ever() -> None:
    found = foresee({**KEPT, "cleanup.policy": ""}, KEPT, seen(), RULES)
    assert codes(found) == [ReasonCode.RETENTION_TIGHTER]
    assert "(cleanup.policy is empty)" in str(found)


@pytest.mark.parametrize(
    ("final", "log", "detail"),
    [
        ({"retention.ms": ""}, FULL, "does not tell its default for retention.ms"),
        ({}, LogSeen(first=10, end=30, fresh=25, timed=30), "partition 0 have no timestamps"),
        ({}, LogSeen(first=10, end=30, fresh=25, timed=12), "partition 0 have no timestamps"),
        (
            {"remote.storage.enable": "true"},
            LogSeen(first=10, end=30, fresh=25, timed=10, future=True),
            "future times",
        ),
        ({"retention.bytes": "800", "compression.type": "gzip"}, FULL, "compression.type is gzip"),
        ({"retention.bytes": "800", "remote.storage.enable": "true"}, FULL, "tiered storage"),
        (
            {"retention.bytes": "800", "cleanup.policy": "compact,delete"},
            FULL,
            "both cleaners compact",
        ),
        ({"retention.bytes": "800"}, LogSeen(first=1, end=3, fresh=3), "does not tell the bytes"),
    ],
)
def test_what_cannot_be_known_keeps_the_hold(
    final: dict[str, str], log: LogSeen, detail: str
) -> None:
    alike = {"retention.bytes", "cleanup.policy"}
    source = {**KEPT, **{key: value for key, value in final.items() if key in alike}}
    theirs = {key: value for key, value in {**KEPT, **final}.items() if value}
    found = foresee(source, theirs, seen(log), RULES)
    assert set(codes(found)) == {ReasonCode.DELETION_UNKNOWN}
    assert any(detail in str(reason) for reason in found.reasons)


def test_a_limit_that_the_source_does_not_tell_keeps_the_hold() -> None:
    silent = {key: value for key, value in KEPT.items() if key != "retention.ms"}
    found = foresee(silent, KEPT, seen(), RULES)
    assert codes(found) == [ReasonCode.DELETION_UNKNOWN]
    assert "the source does not tell its retention.ms" in str(found)


def test_changed_records_may_take_more_bytes() -> None:
    sized = {**KEPT, "retention.bytes": "800"}
    changed = replace(seen(), changed=True)
    assert codes(foresee(sized, sized, changed, RULES)) == [ReasonCode.DELETION_UNKNOWN]
    assert not foresee(KEPT, KEPT, changed, RULES).reasons


def test_sizes_of_partitions_say_nothing_where_records_go_through_a_query() -> None:
    sized = {**KEPT, "retention.bytes": "800"}
    logs = {0: LogSeen(first=0, end=9, fresh=0, timed=0, bytes=None, mirrored=900)}
    found = foresee(sized, sized, replace(seen(), logs=logs, transformed=True), RULES)
    assert codes(found) == [ReasonCode.DELETION_UNKNOWN]
    assert "records go through a query, and to partitions of their own" in str(found)


def test_a_query_that_writes_older_times_than_it_reads_keeps_the_hold() -> None:
    young = {0: LogSeen(first=0, end=9, fresh=0, timed=0)}
    older = replace(seen(), logs=young, transformed=True, older=1200)
    found = foresee(KEPT, KEPT, older, RULES)
    assert codes(found) == [ReasonCode.DELETION_UNKNOWN]
    assert "1,200 offsets of the mirror topic have times that retention.ms" in str(found)
    assert not foresee(KEPT, KEPT, replace(older, older=0), RULES).reasons
    # What is past retention on both sides is no reason, as in each log that has been there longer.
    both = replace(older, logs={0: LogSeen(first=0, end=9, fresh=4, timed=0)})
    assert not foresee(KEPT, KEPT, both, RULES).reasons
    assert not foresee(
        {**KEPT, "retention.ms": "-1"}, {**KEPT, "retention.ms": "-1"}, older, RULES
    ).reasons


def test_a_cluster_that_does_not_answer_keeps_the_hold() -> None:
    silent = TopicSeen(untold="source: no leader")
    found = foresee(KEPT, KEPT, silent, RULES)
    assert str(found.reasons[0]).endswith("would delete: source: no leader")
    assert codes(found) == [ReasonCode.DELETION_UNKNOWN]


def test_a_compacted_log_may_have_lost_its_first_records() -> None:
    both = {**KEPT, "cleanup.policy": "compact,delete"}
    log = LogSeen(first=10, end=30, fresh=25, timed=12)
    assert not foresee(both, both, seen(log), RULES).reasons


def test_clocks_that_differ_by_more_than_a_minute_keep_the_hold() -> None:
    assert not foresee(KEPT, KEPT, seen(ahead=MOST_AHEAD), RULES).reasons
    assert not foresee(KEPT, KEPT, seen(ahead=None), RULES).reasons
    found = foresee(KEPT, KEPT, seen(ahead=MOST_AHEAD + 1000), RULES)
    assert codes(found) == [ReasonCode.CLOCK_AHEAD]


def test_a_larger_log_keeps_the_hold_but_filler_before_it_does_not() -> None:
    sized = {**KEPT, "retention.bytes": "800"}
    grown = LogSeen(first=0, end=30, fresh=0, timed=0, bytes=900, mirrored=901)
    assert codes(foresee(sized, sized, seen(grown), RULES)) == [ReasonCode.LOG_LARGER]
    fronted = LogSeen(first=5, end=30, fresh=5, timed=5, bytes=900, mirrored=1900)
    found = foresee(sized, sized, seen(fronted), RULES)
    assert (found.reasons, found.ranges) == ((), {0: (5, 30)})


# The model: a source that is written to, a mirror that copies at once, brokers that clean.

MINUTE = 60_000
_limits = st.sampled_from(("-1", "3600000", "7200000", "36000000"))
_sizes = st.sampled_from(("-1", "300", "900"))
_policies = st.sampled_from(("delete", "delete", "compact", "", "compact,delete"))


@st.composite
def configs(draw: st.DrawFn) -> dict[str, str]:
    return {
        "cleanup.policy": draw(_policies),
        "retention.ms": draw(_limits),
        "retention.bytes": draw(_sizes),
        "segment.ms": draw(st.sampled_from(("600000", "3600000", "360000000"))),
        "segment.bytes": draw(st.sampled_from(("100", "400", "100000"))),
    }


@dataclass
class Mirrored:
    """Two logs with the same records.

    Attributes:
        source: The source's log.
        target: The target's, without any retention so far.
        now: The source's time.
        ahead: By how much the target's clock is ahead.
    """

    source: Log
    target: Log
    now: int
    ahead: int

    def foresight(self) -> Foresight:
        """Foresee with what brokers would tell."""
        source, final = self.source, self.target.configs
        theirs = self.now + self.ahead
        since = theirs + MOST_AHEAD - int(final["retention.ms"])
        log = LogSeen(
            first=source.begin,
            end=source.end,
            fresh=source.at_time(since),
            timed=source.at_time(0),
            bytes=source.size,
            mirrored=self.target.size,
        )
        return foresee(source.configs, final, seen(log, self.ahead), RULES)

    def lost(self) -> list[Batch]:
        """Return the batches that the source has and the target deleted."""
        return [batch for batch in self.source.batches if batch.offset < self.target.begin]


@st.composite
def mirrors(draw: st.DrawFn) -> Mirrored:
    ours = draw(configs())
    same = draw(st.booleans())
    theirs = ours if same else {**ours, **draw(st.one_of(st.just({}), configs()))}
    growth = 1.0 if same else draw(st.sampled_from((0.5, 1.0, 1.0, 1.5)))
    if growth > 1:  # what else makes records larger is known by the file
        theirs = {**theirs, "compression.type": "uncompressed"}
    ahead = draw(st.sampled_from((0, MOST_AHEAD, 10 * MINUTE, -10 * MINUTE)))
    source, target = Log(ours), Log(theirs)
    now, offset = 100 * 60 * MINUTE, 0
    untimed = draw(st.booleans()) and draw(st.booleans())
    for _ in range(draw(st.integers(0, 25))):
        now += draw(st.integers(0, 90)) * MINUTE
        late = draw(st.sampled_from((0, 0, 0, 30, 600))) * MINUTE
        count, size = draw(st.integers(1, 3)), draw(st.integers(40, 90))
        batch = Batch(offset, count, -1 if untimed else now - late, size)
        source.append(batch, now)
        source.clean(now)
        if "compact" in ours["cleanup.policy"]:
            source.compact(draw(st.sets(st.integers(0, batch.end), max_size=3)))
        offset = batch.end
    for batch in source.batches:
        grown = Batch(batch.offset, batch.count, batch.time, int(batch.size * growth))
        target.append(grown, now)
    target.begin = source.begin
    return Mirrored(source, target, now, ahead)


def by_rule(batch: Batch, both: Mirrored) -> bool:
    """Whether the source's own retention is past a batch, by a clock that may be a minute off."""
    return both.source.past(batch, both.now + max(0, min(both.ahead, MOST_AHEAD)))


@examples(2, soak=6)
@given(mirrors())
def test_all_that_the_target_deletes_at_once_is_foretold(both: Mirrored) -> None:
    found = both.foresight()
    both.target.clean(both.now + both.ahead)
    first, end = found.ranges.get(0, (0, 0))
    for batch in both.lost():
        assert first <= batch.offset
        assert batch.end <= end
        assert found.reasons or by_rule(batch, both)


@examples(2, soak=6)
@given(mirrors(), st.data())
def test_what_is_released_keeps_all_that_the_source_keeps_later(
    both: Mirrored, data: st.DataObject
) -> None:
    if both.foresight().reasons:
        return
    offset = both.source.end
    for _ in range(data.draw(st.integers(1, 12))):
        both.now += data.draw(st.integers(0, 120)) * MINUTE
        if data.draw(st.booleans()):
            late = data.draw(st.sampled_from((0, 0, 30))) * MINUTE
            batch = Batch(offset, 1, both.now - late, data.draw(st.integers(40, 90)))
            for log in (both.source, both.target):
                log.append(batch, both.now)
            offset = batch.end
        both.source.clean(both.now)
        both.target.clean(both.now + both.ahead)
        assert all(by_rule(batch, both) for batch in both.lost())


@examples(1, soak=2)
@given(mirrors())
def test_nothing_is_held_back_without_a_difference(both: Mirrored) -> None:
    """A false alarm needs different configs, sizes or clocks, or records without times."""
    source: Mapping[str, str] = both.source.configs
    alike = source == both.target.configs and both.source.size == both.target.size
    cleaned = "compact" in source["cleanup.policy"] and source["retention.bytes"] != "-1"
    timed = all(batch.time >= 0 for batch in both.source.batches)
    if alike and timed and not cleaned and both.ahead <= MOST_AHEAD:
        assert not both.foresight().reasons
