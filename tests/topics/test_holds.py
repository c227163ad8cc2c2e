"""Configs that would refuse older records are held back; without any cluster."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

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
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import ConfigRules
from towpath.topics.configs import final_policy, held_out, largest_batch
from towpath.topics.drift import refusing
from towpath.topics.gate import ReleaseGate
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.steps import SetConfigs

_SEGMENT, _POLICY, _MOST = "segment.bytes", "cleanup.policy", "max.message.bytes"
_TOO_OLD, _TOO_NEW = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
_ANY = str(2**63 - 1)


def seen(*topics: Topic, target: tuple[Topic, ...] = ()) -> ObservedTopics:
    found = observed(*topics, target=target)
    return replace(found, known=found.known | {_SEGMENT})


def filled(*names: str) -> frozenset[TopicName]:
    return frozenset(map(TopicName, names))


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_compacted_once_it_is_filled(policy: str) -> None:
    """Records without keys may be older than the policy; while it is `delete`, none may go."""
    before = seen(topic(own={_POLICY: policy, "retention.ms": "1000"}))
    found = compare(before, start="earliest")
    step = created(found)
    assert step.configs == {_POLICY: "delete", "retention.ms": "-1"}
    assert step.held == {_POLICY: policy, "retention.ms": "1000"}
    assert notes(found)[0] == (
        "cleanup.policy is held back (delete) while the mirror topic is filled, else the target"
        f" would refuse old records without keys; it is set to {policy} once the mirror topic has"
        " caught up"
    )
    after, ours = done(found.steps, before), OwnedTopics.of(found.steps)
    waits = compare(after, ours=ours)
    assert not waits.steps
    assert (
        "held back until the mirror topic has caught up with the source, as the target would refuse"
        f" records that the source took before: cleanup.policy={policy}"
    ) in notes(waits)
    released = only(compare(after, ours=replace(ours, caught_up=filled("orders"))))
    assert isinstance(released, SetConfigs)
    assert released.set == {_POLICY: policy, "retention.ms": "1000"}


def test_a_policy_by_default_is_held_back_too() -> None:
    default = replace(
        seen(topic(configs={_POLICY: "compact"})), defaults={**DEFAULTS, _POLICY: "compact"}
    )
    step = created(compare(default, start="earliest"))
    assert step.configs == {_POLICY: "delete", "retention.ms": "-1"}
    assert step.held == {_POLICY: None, "retention.ms": None}


def test_segments_smaller_than_a_batch_may_be_wait() -> None:
    own = {_SEGMENT: "1048576", _MOST: "8388608", "retention.ms": "-1"}
    before = seen(topic(own=own))
    found = compare(before, start="earliest")
    assert created(found).configs == {**own, _SEGMENT: "8388608"}
    assert created(found).held == {_SEGMENT: "1048576"}
    roomy = {**own, _SEGMENT: "8388608"}
    assert created(compare(seen(topic(own=roomy)), start="earliest")).held == {}
    low = {**own, _MOST: "100000"}
    step = created(compare(seen(topic(own=low)), start="earliest"))
    assert step.configs == {**own, _SEGMENT: "8388608"}
    assert step.held == {_MOST: "100000", _SEGMENT: "1048576"}
    assert created(compare(before, start="latest")).held == {}


def test_limits_that_a_topic_sets_itself_wait() -> None:
    """Records of before may exceed them, and records arrive late until the cutover."""
    own = {_MOST: "100000", _TOO_OLD: "3600000", _TOO_NEW: "7200000", "retention.ms": "-1"}
    before = seen(topic(own=own))
    before = replace(before, known=before.known | {_TOO_OLD, _TOO_NEW})
    found = compare(before, start="earliest")
    step = created(found)
    assert step.configs == {**own, _MOST: "8388608", _TOO_OLD: _ANY, _TOO_NEW: _ANY}
    assert step.held == {key: own[key] for key in (_MOST, _TOO_OLD, _TOO_NEW)}
    said = "".join(notes(found))
    assert f"{_TOO_OLD} is held back ({_ANY}) until the cutover, else the target would" in said
    assert "`topics.configs.override`" not in said
    after, ours = done(found.steps, before), OwnedTopics.of(found.steps)
    assert not compare(after, ours=ours).steps
    reached = replace(ours, caught_up=filled("orders"))
    later = only(compare(after, ours=reached))
    assert isinstance(later, SetConfigs)
    assert later.set == {_MOST: "100000", _TOO_NEW: "7200000"}
    said = "".join(notes(compare(after, ours=reached)))
    assert "held back until the cutover, as the target would refuse records" in said
    last = only(compare(after, ours=replace(reached, cut_over=filled("orders"))))
    assert isinstance(last, SetConfigs)
    assert last.set == {_MOST: "100000", _TOO_NEW: "7200000", _TOO_OLD: "3600000"}
    source, there = before.source[0], after.target[TopicName("orders")]
    assert held_out(source, there, ConfigRules())
    assert not held_out(source, there, ConfigRules(exclude=[_TOO_OLD]))
    assert not held_out(source, source, ConfigRules())
    named = compare(after, ours=reached, configs={"override": {_TOO_OLD: "9"}})
    forced = only(named)
    assert isinstance(forced, SetConfigs)
    assert forced.set[_TOO_OLD] == "9"


def test_a_limit_by_default_of_the_source_waits_for_nothing() -> None:
    """The mirror topic does not get it, so no look has to find out whether it has caught up."""
    source = topic(configs={_MOST: "1000", _TOO_NEW: "3600000"})
    assert not refusing(source, topic(), OwnedTopics())
    assert created(compare(seen(source), start="earliest")).held.keys() == {"retention.ms"}


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ({_POLICY: "delete"}, {_POLICY: "compact"}),
        ({_SEGMENT: "9000000"}, {_SEGMENT: "1048000"}),
        ({_MOST: "9000000"}, {_MOST: "1048000"}),
    ],
)
def test_a_change_that_would_refuse_records_waits_in_the_middle_of_a_run(
    now: dict[str, str], then: dict[str, str]
) -> None:
    source, there = topic(own=then), topic(own=now)
    both = seen(source, target=(there,))
    found = compare(both)
    assert not found.steps
    (key,) = then
    assert f"records that the source took before: {key}={then[key]}" in "".join(notes(found))
    assert refusing(source, there, OwnedTopics())
    step = only(compare(both, ours=OwnedTopics(caught_up=filled("orders"))))
    assert isinstance(step, SetConfigs)
    assert step.set == then
    # The other way nothing waits.
    assert compare(seen(there, target=(source,))).steps
    assert not refusing(there, source, OwnedTopics())


def test_what_would_delete_from_a_topic_that_is_compacted_later_waits_with_the_policy() -> None:
    """Else the target would delete by time what the source, which compacts, keeps."""
    source = topic(own={_POLICY: "compact", "retention.ms": "1000"})
    both = seen(source, target=(topic(own={_POLICY: "delete", "retention.ms": "9000"}),))
    found = compare(both)
    assert not found.steps
    assert (
        "held back as long as cleanup.policy is, as only the target would delete by it:"
        " retention.ms=1000"
    ) in notes(found)
    step = only(compare(both, ours=OwnedTopics(caught_up=filled("orders"))))
    assert isinstance(step, SetConfigs)
    assert step.set == {_POLICY: "compact", "retention.ms": "1000"}


def test_a_topic_counts_as_compacted_from_the_start() -> None:
    compacted, there = topic(own={_POLICY: "compact"}), {_POLICY: "delete"}
    assert final_policy(compacted, there, ConfigRules()) == "compact"
    assert final_policy(compacted, there, ConfigRules(override={_POLICY: "delete"})) == "delete"
    assert final_policy(compacted, there, ConfigRules(exclude=[_POLICY])) == "delete"
    assert final_policy(topic(), {_POLICY: "compact"}, ConfigRules()) == "compact"


def test_a_batch_fits_into_a_segment() -> None:
    assert largest_batch({}) == 1_048_588
    assert largest_batch({_MOST: "8388608", _SEGMENT: "1048576"}) == 1_048_576
    assert largest_batch({_MOST: "5", _SEGMENT: "1048576"}) == 5


class _Link:
    """A link with what its source and its books say."""

    def __init__(self) -> None:
        self.ends = {0: 7, 1: 3}
        self.copied: dict[int, int | None] = {0: None, 1: None}
        self.asked = 0
        self.source = SimpleNamespace(
            offsets=SimpleNamespace(
                latest=self._latest, earliest=lambda tps, **_: dict.fromkeys(tps, 3)
            )
        )
        self.books = SimpleNamespace(of=self._of)
        self.config = SimpleNamespace(transforms=None)

    def _latest(self, tps: list[TopicPartition], **_: Any) -> dict[TopicPartition, int]:
        self.asked += 1
        return {tp: self.ends[tp.partition] for tp in tps if tp.partition in self.ends}

    def _of(self, tp: TopicPartition) -> SimpleNamespace:
        at = self.copied[tp.partition]
        return SimpleNamespace(receipt=None if at is None else SimpleNamespace(source_end=at))


def test_a_topic_is_released_once_it_has_what_its_source_had_then() -> None:
    """Under traffic it never has all; partition 1 has no records and never gets a receipt."""
    gate, link, name = ReleaseGate(), _Link(), TopicName("orders")
    pending = {name: topic(partitions=2, own={_POLICY: "compact"})}
    here: Any = link
    assert gate.behind(pending, here) == {name}
    link.ends, link.copied = {0: 99, 1: 3}, {0: 6, 1: None}
    assert gate.behind(pending, here) == {name}
    link.copied[0] = 7
    assert gate.behind(pending, here) == frozenset()
    assert link.asked == 1
    changed = {name: topic(partitions=2, own={_POLICY: "compact,delete"})}
    assert gate.behind(changed, here) == {name}  # seen for the first time: 99 is its end then
    link.copied[0] = 99
    assert gate.behind(changed, here) == frozenset()


def test_a_topic_whose_offsets_are_not_known_is_not_released() -> None:
    gate, link, name = ReleaseGate(), _Link(), TopicName("orders")
    link.ends, here = {0: 7}, link
    untold: Any = here
    assert gate.behind({name: topic(partitions=2)}, untold) == {name}
    assert gate.behind({}, untold) == frozenset()
