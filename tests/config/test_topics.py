"""Which topics match, and what they are called on the target."""

from __future__ import annotations

import pytest

from towpath.config import INTERNAL_TOPICS, TopicsConfig
from towpath.model.errors import ConfigError

ALL = TopicsConfig(include=(".*",))


@pytest.mark.parametrize(
    ("topic", "fits"),
    [
        ("orders", True),
        ("orders2", False),
        ("my-orders", False),
        ("payments.eu", True),
        ("payments.eu.dead", False),
        ("orders\n", False),
    ],
)
def test_whole_names_are_compared(topic: str, fits: bool) -> None:
    topics = TopicsConfig(include=("orders", r"payments\..*"), exclude=(r".*\.dead",))
    assert topics.matches(topic) is fits


@pytest.mark.parametrize("topic", sorted(INTERNAL_TOPICS))
def test_internal_topics_never_match(topic: str) -> None:
    assert not ALL.matches(topic)


def test_what_the_broker_calls_internal_never_matches() -> None:
    assert ALL.matches("state")
    assert not ALL.matches("state", internal=True)


def test_the_template_names_the_target_topic() -> None:
    topics = TopicsConfig(include=(".*",), rename="eu.{topic}")
    assert topics.target_name("orders") == "eu.orders"
    assert ALL.target_name("orders") == "orders"


@pytest.mark.parametrize(
    ("rename", "topic", "why"),
    [
        ("eu.{topic}", "a" * 247, "is longer than 249 characters"),
        ("{topic}", "a b", "has illegal characters"),
        (".{topic}", ".", "is not allowed by Kafka"),
        ("_{topic}", "_consumer_offsets", "belongs to an internal topic"),
    ],
)
def test_a_name_that_kafka_would_refuse_is_told(rename: str, topic: str, why: str) -> None:
    topics = TopicsConfig(include=(".*",), rename=rename)
    name = rename.replace("{topic}", topic)
    with pytest.raises(ConfigError) as caught:
        topics.target_name(topic)
    assert str(caught.value) == (
        f"topics.rename: topic {topic} would be named {name} on the target, a name that {why}"
    )
