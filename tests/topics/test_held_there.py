"""What a mirror topic that is there would delete is held back, or told; without any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.links import link
from tests.support.subjects.topic_models import compare, done, notes, observed, only, topic
from towpath.model.findings import Cause
from towpath.model.nouns import TopicName
from towpath.plan.subject import Difference
from towpath.settings import ConfigRules
from towpath.topics.holds import held_back
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.retention import LogSeen, TopicSeen, differs, foresee
from towpath.topics.steps import SetConfigs, TopicStep

NAME = TopicName("orders")
MS, BYTES, POLICY, SEGMENT = "retention.ms", "retention.bytes", "cleanup.policy", "segment.ms"
LOGS = TopicSeen(logs={0: LogSeen(first=10, end=30, fresh=25, timed=10, bytes=9)}, ahead=0)
CAUGHT_UP = OwnedTopics(caught_up=frozenset({NAME}))


def both(
    own: Mapping[str, str] | None = None, there: Mapping[str, str] | None = None
) -> ObservedTopics:
    """Return a topic and its mirror topic, which the link did not make."""
    return observed(topic(own=own), target=(topic(own=there),))


def foreseen(
    seen: ObservedTopics, ours: OwnedTopics = CAUGHT_UP, *, meant: bool = False, **configs: Any
) -> ObservedTopics:
    """Return the topics with what a look at both clusters would foresee."""
    config = link("a:1", "b:1", ".*", configs=configs)
    found = {
        name: replace(
            foresee(each.source.configs, each.final, LOGS, config.topics.configs),
            meant=meant,
            holdable=each.holdable,
        )
        for name, each in held_back(seen, config, ours).items()
    }
    return replace(seen, foresights=found)


def compared(
    seen: ObservedTopics, ours: OwnedTopics = CAUGHT_UP, *, meant: bool = False, **configs: Any
) -> Difference[TopicStep]:
    """Return the difference, with what is foreseen."""
    told = foreseen(seen, ours, meant=meant, **configs)
    return compare(told, ours=ours, configs=configs, may_delete=(NAME,) if meant else ())


def step(found: Difference[TopicStep]) -> SetConfigs:
    change = only(found)
    assert isinstance(change, SetConfigs)
    return change


def risk(found: Difference[TopicStep]) -> str:
    """Return the one problem, which keeps nothing from being copied."""
    assert NAME in found.topics
    (problem,) = found.problems
    assert (problem.about, problem.cause) == (NAME, Cause.KEEPS_LESS)
    return problem.text


def test_an_override_that_keeps_less_is_held_back_until_the_file_lets_it_delete() -> None:
    rules: dict[str, Any] = {"override": {MS: "5"}}
    for there in ({}, {MS: "5"}, {MS: "9"}):
        seen = both(there=there)
        found = compared(seen, **rules)
        change = step(found)
        assert (change.set, change.held) == ({MS: "-1"}, {MS: "5"})
        assert not found.problems
        (told,) = notes(found)
        assert told.startswith(
            "held back from now on (retention.ms=-1): retention.ms would be 5 on the target and is"
            " 604800000 at the source: `topics.configs.override` sets retention.ms; up to 15"
        )
        assert "`topics.may_delete`" in told
        after, ours = done(found.steps, seen), OwnedTopics.of(found.steps, [NAME])
        kept = compared(after, ours, **rules)
        assert (kept.steps, kept.problems) == ((), ())
        assert notes(kept)[0].startswith("retention.ms stays held back (-1): retention.ms would")
        assert step(compared(after, ours, meant=True, **rules)).set == {MS: "5"}
        assert step(compared(after, ours)).remove == (MS,)  # the file changed, nothing differs


@pytest.mark.parametrize(
    ("own", "there", "rules", "text"),
    [
        ({}, {MS: "5"}, {"exclude": ["retention.*"]}, "does not copy retention.ms"),
        ({}, {BYTES: "5"}, {"exclude": ["retention.bytes"]}, "retention.bytes would be 5"),
        (
            {POLICY: "compact"}, {}, {"exclude": ["cleanup.policy", "retention.*"]},
            "has no effect at the source (cleanup.policy is compact)",
        ),
        ({}, {POLICY: "compact"}, {"exclude": ["cleanup.policy"]}, "does not copy cleanup.policy"),
        (
            {SEGMENT: "9"}, {SEGMENT: "5"}, {"exclude": ["segment.ms", "retention.*"]},
            "segment.ms would be 5 on the target and is 9 at the source",
        ),
    ],
)  # fmt: skip
def test_what_the_file_excludes_stays_and_is_told_before_anything_goes(
    own: dict[str, str], there: dict[str, str], rules: dict[str, Any], text: str
) -> None:
    for ours in (OwnedTopics(), CAUGHT_UP):
        found = compared(both(own, there), ours, **rules)
        assert not found.steps
        told = risk(found)
        assert told.startswith("the target keeps less than the source: ")
        assert text in told
        assert "offsets that the source has would go at once; this is not held back" in told
        assert told.endswith("or name the topic under `topics.may_delete` if it is meant")
    meant = compared(both(own, there), meant=True, **rules)
    assert not meant.problems
    assert any("the file lets the target delete it" in each for each in notes(meant))


def test_a_policy_that_the_file_overrides_is_held_back_with_retention() -> None:
    rules: dict[str, Any] = {"override": {POLICY: "compact"}}
    change = step(compared(both(there=rules["override"]), **rules))
    assert change.set == {POLICY: "delete", MS: "-1"}
    assert change.held == {POLICY: "compact", MS: None}


def test_finer_segments_of_the_file_hold_retention_back() -> None:
    rules: dict[str, Any] = {"exclude": [SEGMENT]}
    change = step(compared(both({SEGMENT: "9"}, {SEGMENT: "5"}), **rules))
    assert (change.set, change.held) == ({MS: "-1"}, {MS: None})


def test_what_a_mirror_topic_would_delete_before_it_is_compacted_is_held_back() -> None:
    """The source compacts and keeps; the mirror topic gets the policy only when it is full."""
    seen = both({POLICY: "compact", MS: "1000"}, {MS: "9000"})
    empty = OwnedTopics()
    found = compared(seen, empty)
    change = step(found)
    assert (change.set, change.held) == ({MS: "-1"}, {MS: "9000"})
    after, ours = done(found.steps, seen), OwnedTopics.of(found.steps)
    assert not compared(after, ours).steps
    full = replace(ours, caught_up=frozenset({NAME}))
    released = compared(after, full)
    assert step(released).set == {POLICY: "compact", MS: "1000"}
    assert not compared(
        done(released.steps, after), OwnedTopics.of((*found.steps, *released.steps), [NAME])
    ).steps


def test_what_somebody_released_by_hand_is_not_taken_back_but_told() -> None:
    rules: dict[str, Any] = {"override": {MS: "5"}}
    seen = both()
    held = compared(seen, **rules)
    ours = OwnedTopics.of(held.steps, [NAME])
    found = compared(both(there={MS: "5"}), ours, **rules)
    assert not found.steps
    assert "`topics.configs.override` sets retention.ms" in risk(found)


def test_a_target_that_takes_no_such_config_is_told() -> None:
    seen = replace(both(there={MS: "5"}), known=frozenset({POLICY}))
    assert "the target does not take the source's value" in risk(compared(seen))


def test_topics_that_keep_as_much_are_not_looked_at() -> None:
    config = link("a:1", "b:1", ".*")
    assert not held_back(both({MS: "5"}, {MS: "5"}), config, CAUGHT_UP)
    assert not held_back(both(there={MS: "5"}), config, CAUGHT_UP)  # the step loosens it at once
    blind = observed(replace(topic(), configs={}), target=(topic(own={MS: "5"}),))
    assert not held_back(blind, link("a:1", "b:1", ".*", configs={"exclude": [MS]}), CAUGHT_UP)


def test_topics_that_were_cut_over_are_nobodys_mirror_any_more() -> None:
    over = replace(CAUGHT_UP, cut_over=frozenset({NAME}))
    either: tuple[dict[str, Any], ...] = {"exclude": [MS]}, {"override": {MS: "5"}}
    for rules in either:
        found = compared(both(there={MS: "5"}), over, **rules)
        assert (found.steps, found.problems) == ((), ())


def test_a_topic_made_for_what_comes_now_is_not_made_to_delete() -> None:
    rules: dict[str, Any] = {"override": {MS: "5"}}
    seen = foreseen(observed(topic()), OwnedTopics(), **rules)
    (made,) = compare(seen, start="latest", configs=rules).steps
    assert (made.configs, made.held) == ({MS: "-1"}, {MS: "5"})  # type: ignore[union-attr]


_limits = st.sampled_from(("-1", "5", "9"))
_settings = st.fixed_dictionaries(
    {},
    optional={
        MS: _limits,
        BYTES: _limits,
        POLICY: st.sampled_from(("delete", "compact", "compact,delete")),
        SEGMENT: st.sampled_from(("5", "9")),
    },
)
_keys = st.sets(st.sampled_from((MS, BYTES, POLICY, SEGMENT)))


@given(_settings, _settings, _settings, _keys)
def test_nothing_that_only_the_target_deletes_is_neither_held_nor_told(
    own: dict[str, str], there: dict[str, str], override: dict[str, str], exclude: set[str]
) -> None:
    """And what is held once is not done again, nor told as a problem."""
    rules: dict[str, Any] = {"override": override, "exclude": sorted(exclude)}
    seen = both(own, there)
    ours = CAUGHT_UP
    steps: tuple[TopicStep, ...] = ()
    for last in (False, False, True):
        found = compared(seen, ours, **rules)
        assert not (last and found.steps)
        seen, steps = done(found.steps, seen), (*steps, *found.steps)
        ours = OwnedTopics.of(steps, [NAME])
        mirror: Topic = seen.target[NAME]
        left = list(
            differs(seen.source[0].configs, mirror.configs, ConfigRules.model_validate(rules))
        )
        assert bool(left) == bool(found.problems)
        if left:
            assert exclude - override.keys()
