"""Compaction that only the target does, or does earlier, waits for the file; no cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.links import link
from tests.support.subjects.topic_models import (
    DEFAULTS,
    compare,
    created,
    done,
    notes,
    observed,
    only,
    topic,
)
from towpath.model.nouns import TopicName
from towpath.model.reasons import ReasonCode
from towpath.settings import ConfigRules
from towpath.topics.drift import refusing
from towpath.topics.foresight import Foresight
from towpath.topics.holds import held_back
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.retention import LogSeen, TopicSeen, foresee
from towpath.topics.steps import SetConfigs

NAME = TopicName("orders")
POLICY, LAG, TOMBSTONES = "cleanup.policy", "min.compaction.lag.ms", "delete.retention.ms"
LIMITS = {"retention.ms": "1000", "retention.bytes": "-1"}
KEPT = {POLICY: "delete", **LIMITS, LAG: "0", TOMBSTONES: "86400000"}
CLEANED = {**KEPT, POLICY: "compact"}
OFF = {"log.cleaner.enable": "false"}
RATIO = "min.cleanable.dirty.ratio"
RULES = ConfigRules()
LOGS = TopicSeen(logs={0: LogSeen(first=10, end=30, fresh=25, timed=10)}, ahead=0)


@pytest.mark.parametrize(
    ("source", "final", "rules", "text"),
    [
        (
            KEPT,
            CLEANED,
            {"override": {POLICY: "compact"}},
            "the target would compact the topic (cleanup.policy=compact) and the source does not"
            " (delete): `topics.configs.override` sets cleanup.policy",
        ),
        (
            {**KEPT, POLICY: ""},
            CLEANED,
            {"exclude": [r"cleanup\.policy"]},
            "the target would compact the topic (cleanup.policy=compact) and the source does not"
            " (empty): `topics.configs` does not copy cleanup.policy",
        ),
        (
            CLEANED | {LAG: "5000"},
            CLEANED | {LAG: "4999"},
            {"override": {LAG: "4999"}},
            "min.compaction.lag.ms would be 4999 on the target and is 5000 at the source:"
            " `topics.configs.override` sets min.compaction.lag.ms",
        ),
        (
            CLEANED,
            CLEANED | {TOMBSTONES: "100"},
            {"exclude": ["delete.*"]},
            "delete.retention.ms would be 100 on the target and is 86400000 at the source:"
            " `topics.configs` does not copy delete.retention.ms",
        ),
        (
            CLEANED | {LAG: "5000"},
            {POLICY: "compact"},
            {},
            "min.compaction.lag.ms would be unknown on the target and is 5000 at the source: the"
            " target does not take the source's value",
        ),
        (
            {},
            CLEANED,
            {},
            "the target would compact the topic (cleanup.policy=compact) and the source does not"
            " (unknown): the target does not take the source's value",
        ),
        (
            CLEANED | OFF,
            CLEANED,
            {},
            "the target would compact the topic (cleanup.policy=compact) and the source does not"
            " (log.cleaner.enable=false): the configs of the brokers differ",
        ),
        (
            CLEANED | {POLICY: "compact,delete", "retention.ms": "-1", "log.cleaner.threads": "0"},
            CLEANED,
            {"override": {POLICY: "compact"}},
            "the target would compact the topic (cleanup.policy=compact) and the source does not"
            " (log.cleaner.threads=0): the configs of the brokers differ",
        ),
        (
            CLEANED | {RATIO: "1.0"},
            CLEANED | {RATIO: "0.5"},
            {},
            "min.cleanable.dirty.ratio would be 0.5 on the target and is 1.0 at the source: the"
            " configs of the brokers differ",
        ),
        (
            CLEANED | {RATIO: "1.0"},
            CLEANED | {RATIO: "0.1"},
            {"override": {RATIO: "0.1"}},
            "min.cleanable.dirty.ratio would be 0.1 on the target and is 1.0 at the source:"
            " `topics.configs.override` sets min.cleanable.dirty.ratio",
        ),
    ],
)
def test_each_difference_of_cleaning_is_named(
    source: dict[str, str], final: dict[str, str], rules: dict[str, Any], text: str
) -> None:
    found = foresee(source, final, LOGS, ConfigRules.model_validate(rules))
    assert [(str(each.code), str(each)) for each in found.reasons] == [
        (ReasonCode.COMPACTION_TIGHTER, text)
    ]
    assert found.keeps
    assert found.compacts
    assert found.ranges == {0: (10, 30)}  # which keys come again, no broker tells


@pytest.mark.parametrize(
    ("source", "final"),
    [
        (CLEANED, CLEANED),
        (CLEANED, CLEANED | {LAG: "1", TOMBSTONES: "86400001"}),
        (CLEANED | {TOMBSTONES: "1", LAG: "0"}, {POLICY: "compact"}),
        (CLEANED | {POLICY: "compact,delete"}, CLEANED),
        (CLEANED, KEPT | {POLICY: ""}),
        (CLEANED | {LAG: "9"}, KEPT | {"retention.ms": "-1"}),
        (KEPT, CLEANED | OFF),  # no cleaner runs on the target
        (CLEANED | OFF, CLEANED | {"log.cleaner.threads": "0"}),
        (CLEANED | {RATIO: "1"}, CLEANED | {RATIO: "1"}),
        (CLEANED | OFF, KEPT | {POLICY: "compact,delete", **OFF}),
    ],
)
def test_a_target_that_cleans_no_more_is_no_reason(
    source: dict[str, str], final: dict[str, str]
) -> None:
    found = foresee(source, final, LOGS, RULES)
    assert not found.keeps
    assert not found.compacts


def test_retention_alone_does_not_keep_compaction_back() -> None:
    found = foresee(CLEANED, CLEANED | {POLICY: "compact,delete"}, LOGS, RULES)
    assert found.keeps
    assert not found.compacts


def test_without_a_cleaner_a_source_deletes_nothing_of_a_compacted_topic_by_time() -> None:
    both = {**KEPT, POLICY: "compact,delete"}
    found = foresee(both | OFF, both, LOGS, RULES)
    assert [(str(each.code), str(each)) for each in found.reasons] == [
        (
            ReasonCode.RETENTION_TIGHTER,
            "retention.ms would be 1000 on the target and has no effect at the source"
            " (cleanup.policy is compact,delete, and log.cleaner.enable=false): the configs of the"
            " brokers differ",
        ),
        (
            ReasonCode.COMPACTION_TIGHTER,
            "the target would compact the topic (cleanup.policy=compact,delete) and the source does"
            " not (log.cleaner.enable=false): the configs of the brokers differ",
        ),
    ]
    assert found.keeps
    assert found.compacts
    assert not foresee(KEPT | OFF, KEPT, LOGS, RULES).keeps  # others are deleted by another thread


def test_compaction_waits_while_no_cleaner_runs_at_the_source() -> None:
    """The hold is foretold by the first plan, and ends with the cleaner's configs."""

    def seen(stops: Mapping[str, str]) -> ObservedTopics:
        source = topic(own={POLICY: "compact"}, configs=stops)
        return foreseen(observed(source), OwnedTopics(begun=True), rules={})

    found = compare(seen(OFF), start="earliest")
    assert created(found).held[POLICY] == "compact"
    (told,) = (text for text in notes(found) if "caught up, too" in text)
    assert "the source does not (log.cleaner.enable=false)" in told

    ours = replace(OwnedTopics.of(found.steps), caught_up=frozenset({NAME}))
    waits = foreseen(done(found.steps, seen(OFF)), ours, rules={})
    kept = compare(waits, ours=ours)
    assert not kept.steps
    assert any("cleanup.policy" in text and "stays held back" in text for text in notes(kept))

    runs = foreseen(done(found.steps, seen({})), ours, rules={})
    change = only(compare(runs, ours=ours))
    assert isinstance(change, SetConfigs)
    assert change.set[POLICY] == "compact"


def test_a_copy_that_is_compacted_already_is_held_back_once_the_source_cleans_no_more() -> None:
    compacted = topic(own={POLICY: "compact"}, configs={})
    both = observed(topic(own={POLICY: "compact"}, configs=OFF), target=(compacted,))
    ours = OwnedTopics(created={NAME: NAME}, caught_up=frozenset({NAME}))
    change = only(compare(foreseen(both, ours, rules={}), ours=ours))
    assert isinstance(change, SetConfigs)
    assert change.set[POLICY] == "delete"
    assert change.held[POLICY] == "compact"


# What keeps it back, from the first plan to the file that lets it go.

OVERRIDE: dict[str, Any] = {"configs": {"override": {POLICY: "compact"}}}


def foreseen(
    seen: ObservedTopics,
    ours: OwnedTopics,
    *,
    meant: bool = False,
    rules: Mapping[str, Any] = OVERRIDE,
) -> ObservedTopics:
    """Return the topics with what a look at both clusters would foresee."""
    config = link("a:1", "b:1", ".*", **rules)
    held = held_back(seen, config, ours)
    found = {
        name: replace(
            foresee(each.source.configs, each.final, LOGS, config.topics.configs), meant=meant
        )
        for name, each in held.items()
    }
    return replace(seen, foresights=found)


def test_compaction_by_the_file_stays_held_back_until_it_may_delete() -> None:
    source = topic(own={"retention.ms": "1000"})
    before = foreseen(observed(source), OwnedTopics())
    found = compare(before, start="earliest", **OVERRIDE)
    step = created(found)
    assert (step.configs[POLICY], step.held[POLICY]) == ("delete", "compact")
    (told,) = (text for text in notes(found) if "caught up, too" in text)
    assert told.startswith("its compaction stays held back when it has caught up, too:")
    assert "up to 20 offsets that the source has would go at once" in told
    assert "`topics.may_delete`" in told

    ours = OwnedTopics.of(found.steps)
    after = done(found.steps, before)
    waits = compare(foreseen(after, ours), ours=ours, **OVERRIDE)
    assert not waits.steps
    assert any("it stays so then: the target would compact" in text for text in notes(waits))

    ours = replace(ours, caught_up=frozenset({NAME}))
    kept = compare(foreseen(after, ours), ours=ours, **OVERRIDE)
    assert not kept.steps
    assert notes(kept) == [
        "cleanup.policy, retention.ms stays held back (delete, -1): the target would compact the"
        " topic (cleanup.policy=compact) and the source does not (delete):"
        " `topics.configs.override` sets cleanup.policy; up to 20 offsets that the source has would"
        " go at once; name the topic under `topics.may_delete` to release it all the same"
    ]

    released = compare(foreseen(after, ours, meant=True), ours=ours, **OVERRIDE)
    change = only(released)
    assert isinstance(change, SetConfigs)
    assert change.set == {POLICY: "compact", "retention.ms": "1000"}
    assert any("the file lets the target delete it" in text for text in notes(released))


def test_a_copy_that_is_there_is_compacted_only_where_the_file_lets_it_delete() -> None:
    both = observed(topic(), target=(topic(),))
    caught_up = OwnedTopics(caught_up=frozenset({NAME}))
    for ours in (OwnedTopics(), caught_up):
        assert not compare(foreseen(both, ours), ours=ours, **OVERRIDE).steps
    said = "".join(notes(compare(foreseen(both, caught_up), ours=caught_up, **OVERRIDE)))
    assert said.startswith("cleanup.policy stays held back (delete): the target would compact")
    change = only(compare(foreseen(both, caught_up, meant=True), ours=caught_up, **OVERRIDE))
    assert isinstance(change, SetConfigs)
    assert change.set == {POLICY: "compact"}
    override: Mapping[str, str] = {POLICY: "compact"}
    assert refusing(topic(), topic(), OwnedTopics(), override)  # so a run looks whether it is full
    assert not refusing(topic(own={POLICY: "compact"}), topic(), OwnedTopics(), {POLICY: "delete"})


def test_a_default_of_the_target_is_held_back_as_well() -> None:
    rules: dict[str, Any] = {"configs": {"exclude": [r"cleanup\.policy"]}}
    seen = replace(observed(topic()), defaults={**DEFAULTS, POLICY: "compact"})
    config = link("a:1", "b:1", ".*", **rules)
    held = held_back(seen, config, OwnedTopics(begun=True))
    told = foresee(held[NAME].source.configs, held[NAME].final, LOGS, config.topics.configs)
    assert told.compacts
    assert "`topics.configs` does not copy cleanup.policy" in str(told)


def test_a_topic_that_both_sides_compact_alike_is_not_looked_at_before_it_is_there() -> None:
    seen = observed(topic(own={POLICY: "compact"}))
    assert not held_back(seen, link("a:1", "b:1", ".*"), OwnedTopics(begun=True))


def test_lags_of_compacted_topics_are_not_below_those_of_the_source() -> None:
    """By default of brokers, that is; what a topic sets itself is copied in any case."""
    lags = {LAG: "5000", TOMBSTONES: "90000000"}
    defaults = {**DEFAULTS, LAG: "0", TOMBSTONES: "86400000"}

    def values(source: Topic) -> dict[str, str]:
        seen = replace(observed(source), defaults=defaults)
        seen = replace(seen, known=seen.known | lags.keys())
        return dict(created(compare(seen)).configs)

    compacted = topic(own={POLICY: "compact"}, configs=lags)
    assert values(compacted) == {POLICY: "compact", **lags}
    assert values(topic(configs=lags)) == {}
    assert values(topic(own={POLICY: "compact"}, configs={LAG: "0", TOMBSTONES: "1"})) == {
        POLICY: "compact"
    }


# The model: what the cleaner of Kafka may remove of a log, record by record.


@dataclass(frozen=True)
class Keyed:
    """A record that a later one of its key follows, or a tombstone that nothing follows."""

    age: int
    followed: bool
    cleaned: int
    """For how long a tombstone has been the last of its key behind a cleaned log."""


def may_go(record: Keyed, configs: Mapping[str, str]) -> bool:
    """Whether the cleaner may remove a record by its configs, at the latest moment it can run."""
    if configs["log.cleaner.enable"] == "false" or configs["log.cleaner.threads"] == "0":
        return False
    if configs[RATIO] == "1.0":
        return False
    if "compact" not in configs[POLICY] or record.age < int(configs[LAG]):
        return False
    return record.followed or record.cleaned >= int(configs[TOMBSTONES])


_times = st.sampled_from(("0", "10", "20", "9223372036854775807"))
_cleanings = st.fixed_dictionaries(
    {
        POLICY: st.sampled_from(("delete", "compact", "", "compact,delete")),
        "retention.ms": st.just("-1"),
        "retention.bytes": st.just("-1"),
        LAG: _times,
        TOMBSTONES: _times,
        RATIO: st.sampled_from(("0.5", "1.0")),
        "log.cleaner.enable": st.sampled_from(("true", "false")),
        "log.cleaner.threads": st.sampled_from(("1", "0")),
    }
)
_records = st.builds(
    Keyed, age=st.integers(0, 25), followed=st.booleans(), cleaned=st.integers(0, 25)
)


@given(_cleanings, _cleanings, st.lists(_records, max_size=8))
def test_without_a_reason_only_that_goes_which_the_source_may_clean(
    source: dict[str, str], final: dict[str, str], records: list[Keyed]
) -> None:
    found: Foresight = foresee(source, final, LOGS, RULES)
    if not found.compacts:
        assert all(may_go(record, source) for record in records if may_go(record, final))
    if source == final:
        assert not found.reasons
