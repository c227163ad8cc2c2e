"""Which topics match, and what they are called on the target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.model.errors import ConfigError
from towpath.model.target_kinds import TargetKind
from towpath.settings import ConfigRules, GroupsConfig, Replicas, TopicsConfig, check, load
from towpath.settings.loading import notes

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


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__remote_log_metadata"])
def test_topics_that_a_cluster_keeps_for_itself_never_match(topic: str) -> None:
    assert not ALL.matches(topic)
    assert ALL.asks_for(topic)


def test_what_the_broker_calls_internal_never_matches() -> None:
    assert ALL.matches("state")
    assert not ALL.matches("state", internal=True)


def test_the_template_names_the_target_topic() -> None:
    topics = TopicsConfig(include=(".*",), rename="eu.{topic}")
    assert topics.target_name("orders") == "eu.orders"
    assert ALL.target_name("orders") == "orders"


def test_an_empty_name_is_told() -> None:
    topics = TopicsConfig(include=("old(.*)",), rename="{1}")
    assert topics.target_name("older") == "er"
    with pytest.raises(ConfigError) as caught:
        topics.target_name("old")
    assert str(caught.value) == (
        "topics.rename: topic old has no name on the target: '{1}' gives it an empty one"
    )


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


CAPTURING = (
    r"(?P<region>eu|us)\.(?P<what>.*)",
    r"(?P<region>old)-?(?P<what>.+)?",
    r"(?P<region>.)(?P<what>.)",
)


@pytest.mark.parametrize(
    ("rename", "topic", "copy"),
    [
        ("{what}.{region}", "eu.orders", "orders.eu"),
        ("{2}-{1}", "us.a.b", "a.b-us"),
        ("{region}_{topic}_{1}", "eu.x", "eu_eu.x_eu"),
        # Two expressions fit; the first one counts.
        ("{2}{1}", "us.us", "usus"),
        ("{2}{1}", "xy", "yx"),
        ("one", "eu.orders", "one"),
    ],
)
def test_groups_of_the_first_fitting_expression_name_the_target_topic(
    rename: str, topic: str, copy: str
) -> None:
    assert TopicsConfig(include=CAPTURING, rename=rename).target_name(topic) == copy


@pytest.mark.parametrize(("rename", "topic"), [("{what}", "old"), ("x.{2}", "other.topic")])
def test_a_group_without_a_part_names_nothing(rename: str, topic: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TopicsConfig(include=CAPTURING, rename=rename).target_name(topic)
    group = rename.removeprefix("x.")
    assert str(caught.value) == (
        f"topics.rename: topic {topic} has no name on the target: it has nothing for the group"
        f" {group}"
    )


@pytest.mark.parametrize(
    ("rename", "prefix", "alike"),
    [
        ("{topic}", "a.", False),
        ("eu.{topic}", "eu.a.", False),
        ("{topic}.eu", None, False),
        ("{topic}.{topic}", None, False),
        ("{1}.{topic}", None, False),
        ("{1}", None, False),
        ("one", None, True),
    ],
)
def test_beginnings_are_translated_where_they_stay_together(
    rename: str, prefix: str | None, alike: bool
) -> None:
    topics = TopicsConfig(include=("(.*)",), rename=rename)
    assert topics.target_prefix("a.") == prefix
    assert topics.names_alike is alike
    assert topics.keeps_names is (rename == "{topic}")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("source", Replicas.SOURCE),
        ("broker_default", Replicas.BROKER_DEFAULT),
        (3, 3),
        ("03", 3),
    ],
)
def test_a_replication_factor_is_read_as_it_is_meant(written: object, read: object) -> None:
    topics = TopicsConfig.model_validate({"include": ["a"], "replication_factor": written})
    assert topics.replication_factor == read
    assert type(topics.replication_factor) is type(read)


def test_names_of_configs_are_compared_whole() -> None:
    rules = ConfigRules(include=("retention.*", "segment"), exclude=(r".*\.bytes",))
    kept = [key for key in ("retention.ms", "retention.bytes", "segment.ms") if rules.selects(key)]
    assert kept == ["retention.ms"]
    assert ConfigRules().selects("anything")


def test_values_of_configs_are_texts() -> None:
    given = {"a": 5, "b": 0.5, "c": True, "d": "-1"}
    rules = ConfigRules.model_validate({"override": given})
    assert rules.override == {"a": "5", "b": "0.5", "c": "true", "d": "-1"}


def test_every_group_is_meant_by_a_dot_and_a_star() -> None:
    assert GroupsConfig().matches("two\nlines")
    assert not GroupsConfig(exclude=("two.*",)).matches("two\nlines")


KIND = """\
source: {{bootstrap: "a:9092", kind: kafka}}
target: {{bootstrap: "b:9092", kind: {kind}}}
link: l
topics:
  include: ["orders"]
  configs: {{override: {{segment.ms: 5, write.caching: "true", retention.ms: 7}}}}
"""


@pytest.mark.parametrize("kind", ["auto", "kafka", "redpanda"])
def test_the_file_may_say_what_a_cluster_is(write: Callable[[str], Path], kind: str) -> None:
    config = load(write(KIND.format(kind=kind)))
    assert config.source.said_kind is TargetKind.KAFKA
    told = {"kafka": TargetKind.KAFKA, "redpanda": TargetKind.REDPANDA}
    assert config.target.said_kind is told.get(kind)


def test_configs_that_serverless_refuses_are_told_by_lint(write: Callable[[str], Path]) -> None:
    [problem] = check(write(KIND.format(kind="serverless")))
    assert problem.path == "topics.configs.override.segment*"
    assert "Redpanda Serverless does not take segment.ms; it takes cleanup" in problem.sentence
    [problem] = check(write(KIND.format(kind="confluent")))
    assert problem.sentence == (
        "target.kind: 'confluent' is not one of auto, kafka, redpanda, serverless"
    )


def test_what_serverless_makes_needless_is_a_note(write: Callable[[str], Path]) -> None:
    plain = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092", kind: serverless}
link: l
topics: {include: ["orders"], replication_factor: 3}
schemas: {source: {url: "http://a"}, target: {url: "http://b", kind: KIND}}
"""
    factor, registry = notes(write(plain.replace("KIND", "auto")))
    assert factor.startswith("topics.replication_factor has no effect: the replication factor is")
    assert registry.startswith("schemas.target.kind is auto, which takes a registry for one that")
    assert notes(write(plain.replace("KIND", "serverless"))) == (factor,)
    assert notes(write(plain.replace("serverless", "kafka").replace("KIND", "auto"))) == ()
