"""Configs that one release of Kafka takes and another does not, without any cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects.topic_models import (
    compare,
    created,
    creations,
    done,
    notes,
    observed,
    topic,
)
from towpath.model.findings import Heading, Note
from towpath.model.nouns import LinkName
from towpath.plan.explain import remarks
from towpath.plan.model import Plan
from towpath.settings import ConfigRules
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.releases import LEAST, later_notes, too_low

_FOR_EVER = str((1 << 63) - 1)
_AFTER = "message.timestamp.after.max.ms"
_KNOWN = frozenset(
    {"cleanup.policy", "max.message.bytes", "retention.ms", "retention.bytes", "segment.bytes",
     "segment.ms", "message.timestamp.type", "min.insync.replicas", _AFTER}
)  # fmt: skip


def four(*topics: Topic) -> ObservedTopics:
    """Return a target of Kafka 4.1 beside topics of an older source."""
    least = {"segment.bytes": LEAST["segment.bytes"].value}
    return replace(observed(*topics), known=_KNOWN, least=least, release="4.1")


def sectioned(found: tuple[Note, ...], section: Heading) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for note in found:
        if note.section is section:
            told.setdefault(note.text, []).append(note.about)
    return told


def test_the_least_legal_value_is_used_said_once_and_left_alone() -> None:
    small = topic("small", own={"segment.bytes": "65536"})
    large = topic("large", own={"segment.bytes": "2097152"})
    seen = four(small, large, topic("tiny", own={"segment.bytes": "14"}))
    found = compare(seen)
    assert [step.configs["segment.bytes"] for step in creations(found)] == [
        "1048576", "2097152", "1048576",
    ]  # fmt: skip
    assert sectioned(found.notes, Heading.REFUSED) == {
        "segment.bytes is set to 1048576, the least that the target takes; the source has less":
        ["small", "tiny"]
    }  # fmt: skip
    assert not found.problems
    again = compare(done(found.steps, seen))
    assert (again.steps, again.notes) == ((), ())


def test_a_value_that_the_file_asks_for_is_not_raised() -> None:
    seen = four(topic(own={"segment.bytes": "65536"}))
    found = compare(seen, configs={"override": {"segment.bytes": "9"}})
    assert created(found).configs["segment.bytes"] == "9"
    assert not too_low(seen.source, ConfigRules(override={"segment.bytes": "9"}))


def test_future_times_are_told_among_what_kafka_4_refuses() -> None:
    seen = four(topic(configs={_AFTER: _FOR_EVER}), topic("same"))
    found = compare(seen)
    assert creations(found)[0].configs == {_AFTER: _FOR_EVER}
    assert sectioned(found.notes, Heading.REFUSED) == {
        f"{_AFTER} is set to {_FOR_EVER}, as on the source: the target's default is 3600000, with"
        " which it would refuse records of later times": ["orders"]
    }
    assert compare(done(found.steps, seen)).notes == ()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("message.format.version", "Kafka 4.0 removed it, and brokers store records in the newest"),
        ("message.timestamp.difference.max.ms", "can be set there after the cutover"),
        ("message.downconversion.enable", "brokers no longer convert records"),
    ],
)
def test_keys_that_are_gone_are_told(key: str, text: str) -> None:
    found = compare(four(topic(own={key: "1"})))
    (told,) = sectioned(found.notes, Heading.REFUSED)
    assert told.startswith(f"{key} is not copied: ")
    assert text in told
    assert not compare(four(topic(own={key: "1"})), configs={"exclude": [key]}).notes


@pytest.mark.parametrize(
    "key",
    ["max.decompressed.message.bytes", "remote.copy.lag.ms", "errors.deadletterqueue.group.enable"],
)
def test_keys_that_an_older_target_does_not_know_are_told_with_the_release(key: str) -> None:
    found = compare(four(topic(own={key: "1", "strange": "x"})))
    assert sectioned(found.notes, Heading.UNKNOWN) == {
        f"{key}=1 is not copied: Kafka knows it from 4.4 on, and the target is Kafka 4.1":
        ["orders"]
    }  # fmt: skip
    assert "not copied, as the target does not know them: strange" in notes(found)


def test_what_a_later_release_will_refuse_is_told() -> None:
    own = {"segment.ms": "1000", "segment.index.bytes": "8", "max.compaction.lag.ms": "59999"}
    seen = four(topic(own=own), topic("fine", own={"segment.ms": "60000"}))
    assert [str(note) for note in later_notes(seen)] == [
        "orders: max.compaction.lag.ms=59999: Kafka 5.0 takes 60000 or more",
        "orders: segment.index.bytes=8: Kafka 5.0 takes 1024 or more",
        "orders: segment.ms=1000: Kafka 5.0 takes 60000 or more",
    ]
    assert too_low(seen.source, ConfigRules()) == own


def test_a_plan_shows_each_section_under_its_heading() -> None:
    told = (
        Note("b", "y", Heading.REFUSED), Note("a", "x"), Note("a", "y", Heading.REFUSED),
        Note("c", "z", Heading.LATER),
    )  # fmt: skip
    plan = Plan(link=LinkName("l"), source=None, target=None, notes=told)
    assert remarks(plan) == [
        "note: a: x",
        "what Kafka 4 refuses:",
        "  b, a: y",
        "what Kafka 5.0 is planned to refuse:",
        "  c: z",
    ]
    assert [sorted(note) for note in plan.as_data()["notes"]] == [
        ["about", "section", "text"], ["about", "text"], *[["about", "section", "text"]] * 2,
    ]  # fmt: skip
