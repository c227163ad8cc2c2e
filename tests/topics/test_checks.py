"""What the target would refuse, or refuses, on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.subjects.topic_sides import Sides, apply_all, changes, creates
from towpath.cluster.connect.control import Control
from towpath.dev.broker import LocalCluster
from towpath.model.errors import StepOutdatedError
from towpath.model.findings import Cause
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.plan.subject import CheckedSteps
from towpath.topics.apply import apply, check_all
from towpath.topics.refused_configs import narrowed
from towpath.topics.steps import AddPartitions, DeleteTopic, TopicStep

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def outdated(name: TopicName) -> Iterator[tuple[TopicStep, str]]:
    """Give steps that a topic with 2 partitions and retention.ms=1000 refuses, and why."""
    yield creates(name, 3), "3 partitions and has 2 partitions"
    yield creates(name), "1 partition and has 2 partitions"
    yield (
        creates(name, 2, configs={"retention.ms": "5"}),
        "retention.ms=5 and has retention.ms=1000",
    )
    yield AddPartitions(name, name, 1, 4), "1 partition and has 2 partitions"
    yield (
        changes(name, {"retention.ms": "5"}, remove=("segment.ms",), before={"retention.ms": "6"}),
        "retention.ms=6 and has retention.ms=1000",
    )
    yield (
        changes(name, {"retention.ms": "5"}, before={"retention.ms": None}),
        "no retention.ms of its own and has retention.ms=1000",
    )
    yield (
        changes(name, {"retention.ms": "5"}, before={}, id=TopicId("another")),
        "id another and has id ",
    )
    yield DeleteTopic(name, name, NO_TOPIC_ID, 2), "an id that nobody told and has id "
    yield DeleteTopic(name, name, TopicId("another"), 2), "id another and has id "


def test_a_step_is_refused_when_the_target_changed(sides: Sides, new_name: NewName) -> None:
    name = TopicName(new_name("changed"))
    apply(
        creates(name, 2, configs={"retention.ms": "1000"}),
        sides.target,
    )
    advice = "; look who else changes it, then plan again"
    changed = f"target: topic {name} changed since this was planned: it should have "
    for step, expected in outdated(name):
        with pytest.raises(StepOutdatedError) as caught:
            apply(step, sides.target)
        assert str(caught.value).startswith(changed + expected)
        assert str(caught.value).endswith(advice)
    gone = TopicName(new_name("gone"))
    for lost, expected in (
        (AddPartitions(gone, gone, 2, 4), "2 partitions"),
        (changes(gone, {"a": "b"}, before={"a": "c"}), "a=c"),
    ):
        with pytest.raises(StepOutdatedError, match=f"{expected} and has none: it is gone"):
            apply(lost, sides.target)
    apply(DeleteTopic(gone, gone, TopicId("any"), 2), sides.target)


def test_many_steps_are_checked_in_few_requests(
    sides: Sides, new_name: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = new_name("checked")
    new, bad, there, small, odd = (TopicName(f"{prefix}-{end}") for end in "abcde")
    for name in (there, small, odd):
        sides.target.topics.create(name, 2, 1, {})
    steps: tuple[TopicStep, ...] = (
        creates(new, 3, configs={"segment.ms": "600000"}, replicas=-1),
        creates(bad, replicas=7),
        creates(there),
        AddPartitions(there, there, 2, 4),
        AddPartitions(small, small, 2, 1),
        changes(there, {"segment.ms": "600000"}, before={"segment.ms": None}),
        changes(odd, {"segment.ms": "soon"}, before={"segment.ms": None}),
        *(creates(TopicName(f"{new}{n}"), 40) for n in range(600)),
    )
    asked: list[str] = []
    ask = Control.ask

    def told(control: Control, *args: Any) -> Any:
        asked.append(args[3])
        return ask(control, *args)

    monkeypatch.setattr(Control, "ask", told)
    refusals = check_all(steps, sides.target)
    assert {step.source: str(error).partition(";")[0] for step, error in refusals} == {
        bad: f"target: creating topic {bad} with 1 partition and replication factor 7:"
        " INVALID_REPLICATION_FACTOR (38)",
        small: f"target: growing topic {small} to 1 partitions: INVALID_PARTITIONS (37)",
        odd: f"target: changing segment.ms of topic {odd}: INVALID_CONFIG (40)",
    }
    # 24,000 partitions, of which a controller takes 10,000 at once.
    assert asked == ["checking changes of topics"] * 7
    assert new not in sides.target.topics.describe()
    assert len(sides.target.topics.describe([there])[there].partitions) == 2
    assert sides.own(there) == {}


def test_what_is_held_back_is_checked_as_it_will_be(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("final")
    fine, typo, ended, there = (TopicName(f"{prefix}-{end}") for end in "abcd")
    sides.target.topics.create(there, 1, 1, {})
    held = {"retention.ms": "-1", "flush.ms": "-5"}
    steps = (
        creates(fine, configs={"retention.ms": "-1"}, held={"retention.ms": None}),
        creates(typo, configs=held, held={"retention.ms": "abc"}),
        creates(ended, configs={"retention.ms": "-1"}, held={"retention.ms": "abc"}, replicas=7),
        creates(there, configs={"retention.ms": "-1"}, held={"retention.ms": "7"}),
    )
    found = narrowed(steps, sides.target)
    assert found.possible == (steps[0], steps[3])
    assert [step.target for step, _ in found.refused] == [ended, typo]
    assert (len(found.steps), found.later) == (4, found.refused[1:])
    assert "which it gets" not in str(found.refused[0][1])
    why = str(found.refused[1][1])
    assert " with retention.ms=abc, which it gets once it is filled: INVALID_CONFIG (40); " in why
    assert "Invalid value abc for configuration retention.ms" in why


def test_a_looser_limit_that_is_refused_is_not_given_meanwhile(
    sides: Sides, new_name: NewName
) -> None:
    prefix = new_name("firm")
    loose, other = TopicName(f"{prefix}-a"), TopicName(f"{prefix}-b")
    late, most = "message.timestamp.before.max.ms", "max.message.bytes"
    held = {late: "3600000", "retention.ms": "7"}
    steps = (
        creates(loose, configs={late: "-5", "retention.ms": "-1"}, held=held),
        creates(other, configs={most: "8388608", "flush.ms": "-5"}, held={most: "100000"}),
    )
    found = narrowed(steps, sides.target)
    assert found.possible == (
        creates(loose, configs={late: "3600000", "retention.ms": "-1"}, held={"retention.ms": "7"}),
        creates(other, configs={most: "8388608"}, held={most: "100000"}),
    )


def test_refused_configs_are_left_out_one_by_one(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("narrowed")
    new, pair, large, many, there, odd = (TopicName(f"{prefix}-{end}") for end in "abcdef")
    for name in (there, odd):
        sides.target.topics.create(name, 1, 1, {})
    fine, wrong = {"segment.ms": "600000"}, {"flush.ms": "-5", "flush.messages": "many"}
    steps: tuple[TopicStep, ...] = (
        creates(new, configs={**fine, **wrong, "retention.ms": "-1"}, held={"retention.ms": "7"}),
        creates(pair, configs={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}),
        creates(large, configs={**fine, **wrong, "max.message.bytes": "99999999999"}),
        creates(many, configs=wrong, replicas=7),
        AddPartitions(there, there, 1, 2),
        changes(
            there,
            {**fine, **wrong},
            remove=("retention.ms",),
            before=dict.fromkeys((*fine, *wrong, "retention.ms")),
            owned=("segment.ms", "flush.ms"),
        ),
        changes(odd, wrong, before=dict.fromkeys(wrong)),
    )
    found = narrowed(steps, sides.target)
    assert [step for step, _ in found.refused] == [steps[2], steps[3]]
    assert found.possible == (
        creates(new, configs={**fine, "retention.ms": "-1"}, held={"retention.ms": "7"}),
        creates(pair, configs={"max.compaction.lag.ms": "5"}),
        steps[4],
        changes(
            there,
            fine,
            remove=("retention.ms",),
            before=dict.fromkeys((*fine, "retention.ms")),
            owned=("segment.ms",),
        ),
    )
    assert found.steps == (*found.possible[:2], steps[2], steps[3], *found.possible[2:])
    named = {(each.about, each.text.partition(",")[0]) for each in found.problems}
    assert named == {
        *((n, f"the target refuses {k}={v}") for n in (new, there, odd) for k, v in wrong.items()),
        (pair, "the target refuses min.compaction.lag.ms=9"),
    }
    assert {each.cause for each in found.problems} == {Cause.SUBJECT}
    _check_reasons(found, odd)
    assert apply_all(found.possible, sides.target).done == found.possible
    assert sides.own(new) == {**fine, "retention.ms": "-1"}
    assert sides.own(there) == fine


def _check_reasons(found: CheckedSteps[TopicStep], odd: TopicName) -> None:
    why = str(found.refused[0][1])
    assert "and not without max.message.bytes=99999999999: INVALID_CONFIG (40); " in why
    [flush] = [o.text for o in found.problems if (o.about, "flush.ms=" in o.text) == (odd, True)]
    assert flush.startswith(
        "the target refuses flush.ms=-5, so that is left out: INVALID_CONFIG (40); Invalid value -5"
        " for configuration flush.ms: "
    )
    assert flush.endswith(
        "; set the named topic config to a value that this cluster accepts: give it another value"
        " under `topics.configs.override`, or name it under `topics.configs.exclude`"
    )
