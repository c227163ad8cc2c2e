"""What is copied of configs of groups and of client metrics, and what is told instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towpath.group_configs.diff import diff, unasked
from towpath.group_configs.observed import HolderConfigs, ObservedConfigs
from towpath.group_configs.owned import OwnedConfig
from towpath.group_configs.steps import HolderStep, RemoveHolderConfig, SetHolderConfig
from towpath.model.findings import Cause
from towpath.model.holders import ConfigHolder
from towpath.plan.subject import Difference
from towpath.settings import GroupsConfig, TopicsConfig

GROUP, METRICS = ConfigHolder.GROUP, ConfigHolder.CLIENT_METRICS
SESSION, LIMIT, LETTERS = (
    "consumer.session.timeout.ms",
    "share.delivery.count.limit",
    "errors.deadletterqueue.topic.name",
)
PREFIX = "errors.deadletterqueue.topic.name.prefix"
KNOWN = frozenset({SESSION, LIMIT, LETTERS})
BOUNDS = {"group.consumer.min.session.timeout.ms": "45000",
          "group.consumer.max.session.timeout.ms": "60000"}  # fmt: skip


def groups(
    source: Mapping[str, Mapping[str, str]],
    target: Mapping[str, Mapping[str, str]] | None = None,
    **more: Any,
) -> HolderConfigs:
    given = {"known": KNOWN, "existing": frozenset(source), **more}
    return HolderConfigs(source=source, target=target or {name: {} for name in source}, **given)


def compare(
    seen: HolderConfigs,
    ours: tuple[OwnedConfig, ...] = (),
    *,
    prune: bool = False,
    topics: Mapping[str, Any] | None = None,
    **options: Any,
) -> Difference[HolderStep]:
    return diff(
        ObservedConfigs(groups=seen),
        GroupsConfig.model_validate(options),
        TopicsConfig.model_validate(topics or {"include": [".*"]}),
        ours,
        prune=prune,
    )


def said(found: Difference[HolderStep]) -> list[str]:
    return [*map(str, found.notes), *map(str, found.problems)]


def sets(name: str, key: str, value: str, had: str | None = None, source: str = "") -> HolderStep:
    return SetHolderConfig(GROUP, name, key, value, had, source or name)


def test_what_differs_is_set_under_the_name_on_the_target() -> None:
    seen = groups(
        {"a": {SESSION: "50000"}, "b": {LIMIT: "9"}}, {"eu.a": {SESSION: "45000"}, "eu.b": {}}
    )
    found = compare(seen, rename="eu.{group}")
    assert found.steps == (
        sets("eu.a", SESSION, "50000", "45000", "a"),
        sets("eu.b", LIMIT, "9", None, "b"),
    )
    assert not said(found)
    same = groups({"a": {SESSION: "50000"}}, {"a": {SESSION: "50000"}})
    assert not compare(same).steps


def test_the_file_says_which_configs_are_copied() -> None:
    seen = groups({"a": {SESSION: "50000", LIMIT: "9"}})
    found = compare(seen, configs={"exclude": ["share[.].*"]})
    assert found.steps == (sets("a", SESSION, "50000"),)
    assert compare(seen, configs={"exclude": [".*"]}).steps == ()


def test_a_topic_of_dead_letters_has_the_name_of_its_mirror_topic() -> None:
    seen = groups({"a": {LETTERS: "dead"}})
    renamed = {"include": ["dead"], "rename": "eu.{topic}"}
    assert compare(seen, topics=renamed).steps == (sets("a", LETTERS, "eu.dead"),)
    unmirrored = compare(seen, topics={"include": ["other"]})
    assert unmirrored.steps == (sets("a", LETTERS, "dead"),)
    assert said(unmirrored) == [
        f"a: {LETTERS}=dead is copied, but the file does not mirror that topic; the target needs"
        " one of that name, or lets its brokers create it"
    ]


def test_keys_that_the_target_does_not_know_are_named_once() -> None:
    seen = groups(
        {"a": {LIMIT: "9", SESSION: "50000"}, "b": {LIMIT: "9"}}, known=frozenset({SESSION})
    )
    found = compare(seen)
    assert found.steps == (sets("a", SESSION, "50000"),)
    assert said(found) == [
        f"{LIMIT}: the target's brokers know no such config, so it is not copied (a, b)"
    ]


def test_values_out_of_the_bounds_of_the_target_are_a_problem() -> None:
    seen = groups(
        {"a": {SESSION: "70000"}, "b": {SESSION: "1000"}, "c": {SESSION: "60000"}}, bounds=BOUNDS
    )
    found = compare(seen)
    assert found.steps == (sets("c", SESSION, "60000"),)
    ask = "; change the brokers of the target, or exclude the config under `groups.configs.exclude`"
    assert said(found) == [
        f"a: {SESSION}=70000 is not copied: the target's brokers allow no more than 60000"
        f" (group.consumer.max.session.timeout.ms){ask}",
        f"b: {SESSION}=1000 is not copied: the target's brokers allow no less than 45000"
        f" (group.consumer.min.session.timeout.ms){ask}",
    ]
    assert {each.cause for each in found.problems} == {Cause.SUBJECT}


def test_a_target_that_knows_no_configs_of_groups_is_a_problem() -> None:
    found = compare(groups({"a": {SESSION: "50000"}}, known=None))
    assert found.steps == ()
    assert said(found) == [
        "groups.configs: configs of 1 group (a) are not copied: the target's brokers know none;"
        " upgrade them, or exclude all under `groups.configs.exclude`"
    ]
    assert not said(
        compare(groups({"a": {SESSION: "50000"}}, known=None), configs={"exclude": [".*"]})
    )


def test_configs_of_groups_that_do_not_exist_are_listed_and_copied_only_on_demand() -> None:
    seen = groups({"here": {SESSION: "50000"}, "gone": {LIMIT: "9"}}, existing=frozenset({"here"}))
    found = compare(seen)
    assert found.steps == (sets("here", SESSION, "50000"),)
    assert said(found) == [
        "groups.configs: groups that do not exist have configs at the source, which rule the next"
        f" group of that name (gone: {LIMIT}=9); they are not copied without"
        " `groups.configs.absent: true` (docs/group-configs.md)"
    ]
    asked = compare(seen, configs={"absent": True})
    assert asked.steps == (sets("gone", LIMIT, "9"), sets("here", SESSION, "50000"))
    assert not said(asked)


def test_groups_that_would_share_a_name_get_no_configs() -> None:
    found = compare(groups({"a": {SESSION: "50000"}, "b": {LIMIT: "9"}}), rename="one")
    assert found.steps == ()
    assert said(found) == [
        "a: its configs are not copied: would be named one on the target, as b would",
        "b: its configs are not copied: would be named one on the target, as a would",
    ]


def test_only_what_the_link_has_set_is_reset_and_only_on_demand() -> None:
    seen = groups({"a": {}}, {"a": {SESSION: "50000", LIMIT: "9"}})
    ours = (OwnedConfig(GROUP, "a", "a", SESSION),)
    kept = compare(seen, ours)
    assert kept.steps == ()
    assert said(kept) == [
        f"a {SESSION}: was set by this link and is not set at the source any more; `prune: true`"
        " resets it",
        f"a: the target has {LIMIT}=9 for the group a, which the source has not and this link has"
        " not set; it rules the group when it moves, so reset it on the target unless it is meant",
    ]
    pruned = compare(seen, ours, prune=True)
    assert pruned.steps == (RemoveHolderConfig(GROUP, "a", SESSION, "50000"),)


def test_what_was_not_seen_at_the_source_is_never_reset() -> None:
    seen = groups({}, {"a": {SESSION: "50000"}})
    assert not compare(seen, (OwnedConfig(GROUP, "a", "a", SESSION),), prune=True).steps


def test_a_group_that_the_target_did_not_tell_of_gets_no_step() -> None:
    assert not compare(groups({"a": {SESSION: "50000"}}, {"b": {}})).steps


def test_subscriptions_to_client_metrics_are_copied() -> None:
    seen = HolderConfigs(source={"all": {"interval.ms": "10000"}}, target={"all": {}})
    config, topics = GroupsConfig(), TopicsConfig(include=(".*",))
    found = diff(ObservedConfigs(metrics=seen), config, topics, (), prune=False)
    assert found.steps == (SetHolderConfig(METRICS, "all", "interval.ms", "10000", None, "all"),)


def test_without_groups_in_the_file_they_are_named() -> None:
    assert [*map(str, unasked(["b", "a"], []))] == [
        "groups.configs: 2 groups with configs of their own at the source (a, b): they do not move"
        " without `groups` in the file"
    ]


def test_dead_letters_that_the_target_would_not_write_are_a_problem() -> None:
    """Brokers take any name, and then write nothing where it lacks their prefix."""
    seen = groups({"a": {LETTERS: "dlq.a"}}, bounds={PREFIX: "dlq."})
    found = compare(seen, topics={"include": [".*"], "rename": "eu.{topic}"})
    assert found.steps == ()
    [problem] = found.problems
    assert (problem.about, problem.cause) == ("a", Cause.SUBJECT)
    assert str(problem) == (
        "a: errors.deadletterqueue.topic.name=eu.dlq.a is not copied: the target's brokers write"
        " dead letters only into topics whose names begin with dlq."
        " (errors.deadletterqueue.topic.name.prefix); rename the topic otherwise, change the"
        " brokers of the target, or exclude the config under `groups.configs.exclude`"
    )
    kept = compare(seen, topics={"include": [".*"], "rename": "dlq.eu.{topic}"})
    assert [step.value for step in kept.steps if isinstance(step, SetHolderConfig)] == [
        "dlq.eu.dlq.a"
    ]
    for prefix in ({}, {PREFIX: ""}):
        assert not compare(
            groups({"a": {LETTERS: "dlq.a"}}, bounds=prefix),
            topics={"include": [".*"], "rename": "eu.{topic}"},
        ).problems


def test_dead_letters_that_brokers_of_one_prefix_never_wrote_are_told_and_copied() -> None:
    seen = groups({"a": {LETTERS: "lost"}}, bounds={PREFIX: "dlq."})
    found = compare(seen)
    assert found.steps == (sets("a", LETTERS, "lost"),)
    assert not found.problems
    assert "write dead letters only into topics whose names begin with dlq." in said(found)[0]
