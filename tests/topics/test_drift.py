"""Copies that are there: which configs are changed, and which are let alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tests.support.links import link
from tests.support.subjects.topic_models import (
    DEFAULTS,
    compare,
    done,
    notes,
    observed,
    only,
    topic,
)
from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.topics.configs import equal
from towpath.topics.diff import diff
from towpath.topics.observed import Topic
from towpath.topics.owned import OwnedTopics, UncertainChange
from towpath.topics.steps import AddPartitions, CreateTopic, DeleteTopic, SetConfigs, TopicStep

NAME = TopicName("orders")


def ours(*keys: str, caught_up: bool = False, **held: str | None) -> OwnedTopics:
    """Return that we made the topic `orders` and set these keys; `held` are with `_` for `.`."""
    waiting = {key.replace("_", "."): value for key, value in held.items()}
    return OwnedTopics(
        created={NAME: NAME},
        set_keys={NAME: frozenset((*keys, *waiting))},
        held={NAME: waiting},
        caught_up=frozenset({NAME} if caught_up else ()),
    )


def change(
    before: dict[str, str | None],
    set_: dict[str, str],
    remove: tuple[str, ...] = (),
    owned: tuple[str, ...] = (),
) -> SetConfigs:
    """Return the step which changes the topic `orders`."""
    return SetConfigs(
        source=NAME,
        target=NAME,
        set=set_,
        remove=remove,
        before=before,
        owned=owned,
        id=TopicId("id-orders"),
    )


def test_drift_of_what_the_source_has_is_followed_whoever_made_the_copy() -> None:
    source = topic(own={"retention.ms": "5", "segment.ms": "6", "cleanup.policy": "delete,compact"})
    there = topic(own={"retention.ms": "4", "cleanup.policy": "compact,delete"})
    assert only(compare(observed(source, target=(there,)))) == change(
        {"retention.ms": "4", "segment.ms": None}, {"retention.ms": "5", "segment.ms": "6"}
    )
    assert not compare(observed(source, target=(source,))).steps


def test_links_in_both_directions_leave_configs_of_each_other_alone() -> None:
    """Only what the link itself holds back is given free again."""
    made = link("a:1", "b:2", str(NAME))
    twin = made.topics.model_copy(update={"twin": LinkName("back")})
    config = made.model_copy(update={"topics": twin})
    source = topic(own={"retention.ms": "5", "max.message.bytes": "2000000"})
    there = topic(own={"retention.ms": "-1", "max.message.bytes": "3000000"})
    held = ours(caught_up=True, retention_ms="5")
    found = diff(observed(source, target=(there,)), config, held)
    [step] = found.steps
    assert isinstance(step, SetConfigs)
    assert step.changes.keys() == {"retention.ms"}
    assert any("max.message.bytes of orders differ" in note.text for note in found.notes)
    again = diff(observed(source, target=(topic(own={"max.message.bytes": "3000000"}),)), config)
    assert again.steps == ()


def test_only_configs_of_ours_are_removed() -> None:
    there = topic(own={"segment.ms": "6", "retention.ms": "7"})
    both = observed(topic(), target=(there,))
    found = compare(both, ours=ours("segment.ms", "retention.ms"))
    assert only(found) == change(
        {"retention.ms": "7", "segment.ms": "6"}, {}, ("retention.ms", "segment.ms"),
        ("retention.ms", "segment.ms"),
    )  # fmt: skip
    foreign = compare(observed(topic(), target=(topic(own={"segment.ms": "6"}),)))
    assert not foreign.steps
    assert notes(foreign) == [
        "the mirror topic has configs that the source does not have: segment.ms=6; they stay, as"
        " this link did not set them"
    ]


def test_an_own_config_that_is_as_on_the_source_is_no_difference() -> None:
    pinned = topic(own={"retention.ms": DEFAULTS["retention.ms"]})
    for known in (OwnedTopics(), ours("retention.ms")):
        found = compare(observed(topic(), target=(pinned,)), ours=known)
        assert (found.steps, found.notes) == ((), ())


@pytest.mark.parametrize(
    ("key", "theirs", "wanted"),
    [
        ("max.message.bytes", "1000", "1048588"),
        ("retention.ms", "1000", "604800000"),
        ("retention.bytes", "700", "-1"),
        ("message.timestamp.after.max.ms", "1000", "3600000"),
        ("cleanup.policy", "compact", "delete"),
    ],
)
def test_limits_of_a_copy_are_loosened_once(key: str, theirs: str, wanted: str) -> None:
    before = observed(topic(), target=(topic(own={key: theirs}),))
    found = compare(before)
    assert only(found) == change({key: theirs}, {key: wanted})
    assert notes(found) == [f"{key} is set to {wanted}, as on the source: the target has {theirs}"]
    after = done(found.steps, before)
    assert not compare(after, ours=OwnedTopics.of(found.steps)).steps


def test_a_limit_that_was_loosened_stays_as_long_as_it_must() -> None:
    large = topic(configs={"max.message.bytes": "5000000"})
    there = topic(own={"max.message.bytes": "5000000"})
    mine = ours("max.message.bytes")
    assert not compare(observed(large, target=(there,)), ours=mine).steps
    larger = topic(configs={"max.message.bytes": "6000000"})
    key = "max.message.bytes"
    assert only(compare(observed(larger, target=(there,)), ours=mine)) == change(
        {key: "5000000"}, {key: "6000000"}, owned=(key,)
    )
    assert only(compare(observed(topic(), target=(there,)), ours=mine)) == change(
        {key: "5000000"}, {}, (key,), owned=(key,)
    )
    blind = replace(observed(topic(), target=(there,)), defaults={})
    assert not compare(blind, ours=mine).steps  # the source may have larger batches of before
    filled = ours("max.message.bytes", caught_up=True)
    assert only(compare(blind, ours=filled)) == change(
        {key: "5000000"}, {key: "1048588"}, owned=(key,)
    )


def test_in_sync_replicas_stay_within_those_of_the_copy() -> None:
    source = topic(replicas=3, own={"min.insync.replicas": "3"})
    there = topic(replicas=2)
    assert only(compare(observed(source, target=(there,)))) == change(
        {"min.insync.replicas": None}, {"min.insync.replicas": "2"}
    )


def test_some_configs_of_a_copy_are_never_touched() -> None:
    untouched = {
        "message.timestamp.type": "LogAppendTime",
        "leader.replication.throttled.replicas": "*",
        "remote.storage.enable": "true",
    }
    there = topic(own=untouched)
    found = compare(observed(topic(), target=(there,)), ours=ours(*untouched))
    assert not found.steps
    assert notes(found) == [
        "the target replaces record timestamps with its own time; set"
        " message.timestamp.type=CreateTime there to keep the source's timestamps"
    ]
    asked = {"override": {"message.timestamp.type": "CreateTime"}}
    assert only(compare(observed(topic(), target=(there,)), configs=asked)) == change(
        {"message.timestamp.type": "LogAppendTime"}, {"message.timestamp.type": "CreateTime"}
    )


def test_the_clock_that_was_held_out_of_a_copy_is_set_once_the_topic_is_cut_over() -> None:
    """Nobody's own choice is undone: neither that of the target, nor that of the file."""
    clock = "message.timestamp.type"
    source, copy = topic(own={clock: "LogAppendTime"}), topic(own={clock: "CreateTime"})
    cut = replace(ours(), cut_over=frozenset({NAME}))
    assert not compare(observed(source, target=(copy,)), ours=ours()).steps
    found = compare(observed(source, target=(copy,)), ours=cut)
    assert only(found) == change({clock: "CreateTime"}, {clock: "LogAppendTime"})
    assert any("it was held out of the copy" in text for text in notes(found))
    done_already = compare(observed(source, target=(source,)), ours=cut)
    assert (done_already.steps, notes(done_already)) == ((), [])
    assert not compare(observed(copy, target=(source,)), ours=cut).steps
    asked = {"override": {clock: "CreateTime"}}
    assert not compare(observed(source, target=(copy,)), ours=cut, configs=asked).steps


def test_what_the_file_excludes_or_overrides_is_not_taken_for_drift() -> None:
    source = topic(own={"segment.ms": "5", "retention.ms": "5"})
    there = topic(own={"segment.ms": "6", "retention.ms": "7", "retention.bytes": "8"})
    rules = {"exclude": ["segment.*", r"retention\.bytes"], "override": {"retention.ms": 7}}
    found = compare(observed(source, target=(there,)), configs=rules, ours=ours("segment.ms"))
    assert not found.steps
    (problem,) = found.problems
    assert "retention.bytes would be 8 on the target and is -1 at the source" in problem.text
    ended = compare(
        observed(topic(), target=(topic(own={"segment.ms": "7"}),)), ours=ours("segment.ms")
    )
    assert only(ended) == change({"segment.ms": "7"}, {}, ("segment.ms",), ("segment.ms",))


def test_a_copy_whose_configs_are_hidden_stays_as_it_is() -> None:
    there = Topic(NAME, TopicId("id"), 1, 1)
    found = compare(observed(topic(own={"segment.ms": "5"}), target=(there,)))
    assert (found.steps, found.notes) == ((), ())


def held(own: dict[str, str] | None = None) -> Topic:
    return topic(own={"retention.ms": "-1", "retention.bytes": "-1", **(own or {})})


def test_what_is_held_back_is_released_once_the_copy_is_filled() -> None:
    source = topic(own={"retention.ms": "1000"}, configs={"retention.bytes": "700"})
    seen = observed(source, target=(held(),))
    seen = replace(seen, defaults={**DEFAULTS, "retention.bytes": "700"})
    waiting = compare(seen, ours=ours(retention_ms="1000", retention_bytes=None))
    assert not waiting.steps
    assert notes(waiting) == [
        "held back (-1) until the mirror topic has caught up with the source: retention.bytes,"
        " retention.ms"
    ]
    filled = ours(caught_up=True, retention_ms="1000", retention_bytes=None)
    found = compare(seen, ours=filled)
    assert only(found) == change(
        {"retention.bytes": "-1", "retention.ms": "-1"}, {"retention.ms": "1000"},
        ("retention.bytes",), ("retention.bytes", "retention.ms"),
    )  # fmt: skip
    assert not found.notes


def test_what_is_released_is_what_the_source_has_then() -> None:
    source = topic(own={"retention.ms": "2000"})
    found = compare(
        observed(source, target=(held(),)), ours=ours(caught_up=True, retention_ms="1000")
    )
    mine = ("retention.ms",)
    assert only(found) == change({"retention.ms": "-1"}, {"retention.ms": "2000"}, owned=mine)
    rules = {"exclude": ["retention.*"]}
    left = compare(
        observed(source, target=(held(),)),
        configs=rules,
        ours=ours(caught_up=True, retention_ms="1000"),
    )
    assert only(left) == change({"retention.ms": "-1"}, {"retention.ms": "1000"}, owned=mine)


def test_another_hand_may_release_what_is_held_back() -> None:
    there = topic(own={"retention.ms": "5"})
    source = topic(own={"retention.ms": "1000"})
    found = compare(observed(source, target=(there,)), ours=ours(retention_ms="1000"))
    assert only(found) == change(
        {"retention.ms": "5"}, {"retention.ms": "1000"}, owned=("retention.ms",)
    )
    assert not found.notes


def test_what_is_ours_is_told_by_the_steps() -> None:
    a, b = TopicName("a"), TopicName("b")
    create = CreateTopic(
        source=a,
        target=b,
        partitions=1,
        replication_factor=1,
        configs={"retention.ms": "-1", "segment.ms": "5"},
        held={"retention.ms": "7"},
    )
    assert (create.subject, create.about) == ("topics", b)
    made = OwnedTopics.of([create, AddPartitions(a, b, 1, 2)], [a])
    assert made == OwnedTopics(
        created={b: a},
        set_keys={b: frozenset({"retention.ms", "segment.ms"})},
        held={b: {"retention.ms": "7"}},
        meanwhile={b: {"retention.ms": "-1"}},
        caught_up=frozenset({a}),
    )
    release = SetConfigs(
        source=a,
        target=b,
        set={"retention.ms": "7"},
        remove=("segment.ms",),
        before={"retention.ms": "-1", "segment.ms": "5"},
    )
    released = OwnedTopics.of([create, release])
    assert released.set_keys == {b: frozenset({"retention.ms"})}
    assert released.held == {}
    assert OwnedTopics.of([create, release, DeleteTopic(a, b, TopicId("x"), 1)]) == OwnedTopics()
    assert OwnedTopics.of([release]).created == {}


def test_steps_can_be_written_down_and_read() -> None:
    a, b = TopicName("a"), TopicName("b")
    steps: tuple[TopicStep, ...] = (
        CreateTopic(
            source=a,
            target=b,
            partitions=1,
            replication_factor=-1,
            configs={"x": "1"},
            held={"x": None},
        ),
        AddPartitions(a, b, 1, 2),
        SetConfigs(
            source=a,
            target=b,
            set={"x": "1"},
            remove=("y",),
            before={"x": None, "y": "2"},
            owned=("y",),
            id=TopicId("id"),
        ),
        DeleteTopic(a, b, TopicId("id"), 3),
    )
    for step in steps:
        kind: TypeAdapter[TopicStep] = TypeAdapter(type(step))
        assert kind.validate_json(kind.dump_json(step)) == step


@pytest.mark.parametrize(
    ("key", "asked", "told"),
    [
        ("min.cleanable.dirty.ratio", "0.50", "0.5"),
        ("min.cleanable.dirty.ratio", "5e-1", "0.5"),
        ("preallocate", "TRUE", "true"),
        ("retention.ms", " 100", "100"),
        ("retention.ms", "+0100", "100"),
        ("retention.ms", "9223372036854775807", "9223372036854775807"),
        ("cleanup.policy", "delete , compact", "compact,delete"),
        ("follower.replication.throttled.replicas", "0:1, 1:1", "0:1,1:1"),
    ],
)
def test_values_that_mean_the_same_are_no_difference(key: str, asked: str, told: str) -> None:
    seen = replace(observed(topic(), target=(topic(own={key: told}),)), known=frozenset({key}))
    assert not compare(seen, configs={"override": {key: asked}}).steps


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9223372036854775807", "9223372036854775806"),
        ("0:1,1:1", "1:1,0:1"),
        ("lz4", "LZ4"),
        ("1_000", "1000"),
        ("1", None),
        ("", None),
        ("true", "1"),
    ],
)
def test_other_values_are(one: str, other: str | None) -> None:
    assert not equal("any.key", one, other)
    assert equal("any.key", one, one)


SEGMENT = "segment.ms"


def after(*steps: TopicStep | UncertainChange) -> OwnedTopics:
    """Return what is ours after a mirror topic was made without configs, and these steps."""
    return OwnedTopics.of(
        [
            CreateTopic(source=NAME, target=NAME, partitions=1, replication_factor=1, configs={}),
            *steps,
        ]
    )


def removes(present: str, known: OwnedTopics) -> bool:
    """Whether this value would be removed, as the source has none of its own any more."""
    found = compare(observed(topic(), target=(topic(own={SEGMENT: present}),)), ours=known)
    assert not found.steps or only(found) == change(
        {SEGMENT: present}, {}, (SEGMENT,), owned=(SEGMENT,)
    )
    return bool(found.steps)


def test_a_config_that_was_made_before_a_kill_is_ours() -> None:
    killed = UncertainChange(change({SEGMENT: None}, {SEGMENT: "5"}))
    assert removes("5", after(killed))
    assert not removes("6", after(killed))
    assert not removes("5", after(UncertainChange(change({SEGMENT: "4"}, {SEGMENT: "6"}))))
    # The next step shows what became of it.
    assert removes("7", after(killed, change({SEGMENT: "5"}, {SEGMENT: "7"})))
    assert removes("5", after(killed, UncertainChange(change({SEGMENT: "5"}, {SEGMENT: "7"}))))
    assert not removes("9", after(killed, UncertainChange(change({SEGMENT: "9"}, {SEGMENT: "7"}))))


def test_a_config_of_ours_stays_ours_when_a_later_step_fails() -> None:
    other = change({"retention.ms": None}, {"retention.ms": "5"})
    failed = UncertainChange(change({SEGMENT: "5"}, {SEGMENT: "7"}, owned=(SEGMENT,)))
    for known in (after(failed), after(other, failed), after(failed, other)):
        assert removes("5", known)
        assert removes("7", known)
    given_back = UncertainChange(change({SEGMENT: "5"}, {}, (SEGMENT,), owned=(SEGMENT,)))
    assert removes("5", after(given_back))
    # It may be done, and another hand's since.
    assert not removes("8", after(given_back))


def test_several_steps_about_one_copy_add_up() -> None:
    first = change({SEGMENT: None}, {SEGMENT: "5"})
    second = change({"retention.ms": None}, {"retention.ms": "5"})
    both = change(
        {"retention.ms": "5", SEGMENT: "5"}, {SEGMENT: "6"}, ("retention.ms",),
        ("retention.ms", SEGMENT),
    )  # fmt: skip
    assert after(first, second).set_keys == {NAME: {SEGMENT, "retention.ms"}}
    assert after(first, second, both).set_keys == {NAME: {SEGMENT}}
