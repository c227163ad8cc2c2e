"""Topics observed, compared and created on real brokers, old ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.kafka import create_topic, set_config
from tests.support.links import link
from tests.support.subjects.topic_models import creations
from tests.support.subjects.topic_sides import Sides, apply_all, changes, creates, texts
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.dev.broker import LocalCluster
from towpath.model.findings import Cause, Heading
from towpath.model.nouns import Side, TopicName
from towpath.settings import ConfigRules
from towpath.settings.sections.changes import ChangesConfig
from towpath.topics.advice import unmatched_expressions
from towpath.topics.apply import apply, check_all
from towpath.topics.diff import diff
from towpath.topics.holds import held_back
from towpath.topics.observe import look_at_source, look_at_target, observe
from towpath.topics.owned import OwnedTopics
from towpath.topics.retention import differs
from towpath.topics.steps import AddPartitions, DeleteTopic

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def test_a_topic_is_created_as_on_the_source(sides: Sides, new_name: NewName) -> None:
    configs = {
        "cleanup.policy": "compact", "max.message.bytes": "2097152", "segment.ms": "600000",
        "delete.retention.ms": "1000", "min.compaction.lag.ms": "5",
        "max.compaction.lag.ms": "600000", "min.cleanable.dirty.ratio": "0.25",
        "unclean.leader.election.enable": "true", "segment.jitter.ms": "7",
        "file.delete.delay.ms": "1000", "index.interval.bytes": "2048", "compression.type": "lz4",
        "flush.ms": "10000",
    }  # fmt: skip
    name = TopicName(new_name("same"))
    sides.create(name, 3, **configs)
    found = sides.diff(name, records={"start": "latest"})
    assert found.steps == (creates(name, 3, configs=configs),)
    assert found.topics == {name: name}
    assert not found.problems
    assert apply_all(found.steps, sides.target).done == found.steps
    assert sides.own(name) == configs
    assert not sides.diff(name).steps


def test_a_target_without_a_topic_tells_what_it_knows_and_takes(
    oldest: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    """One refused value of one topic says nothing of a config, nor of other topics."""
    sides, prefix = Sides(oldest, target), new_name("old")
    with sides.source, sides.target:
        large = sides.create(f"{prefix}-a", segment_bytes="2097152")
        small = sides.create(f"{prefix}-z", segment_bytes="65536", message_format_version="3.0")
        config = sides.link(f"{prefix}-.")
        there = look_at_source(sides.source, config)
        fresh = look_at_target(
            sides.target, {}, there.topics, there.names, config.topics, config.target
        )
        seen = sides.observe(f"{prefix}-.")
        assert fresh.known == seen.known
        assert (fresh.least, seen.least) == ({"segment.bytes": 1 << 20},) * 2
        found = diff(fresh, config)
        steps = creations(found)
        assert [step.configs["segment.bytes"] for step in steps] == ["2097152", "1048588"]
        assert [step.held.get("segment.bytes") for step in steps] == [None, "1048576"]
        refused = [n.about for n in found.notes if n.section is Heading.REFUSED]
        assert refused == [large, small, small, small]
        assert not apply_all(found.steps, sides.target).failed
        again = sides.diff(f"{prefix}-.")
        assert (again.steps, again.problems) == ((), ())
        set_config(oldest.bootstrap, large, "segment.bytes", "32768")
        (step,) = sides.diff(large, ours=OwnedTopics(caught_up=frozenset({large}))).steps
        assert step == changes(
            large, {"segment.bytes": "1048576"}, before={"segment.bytes": "2097152"},
            id=sides.id(large),
        )  # fmt: skip


def test_an_older_target_does_not_know_new_configs(
    source: LocalCluster, oldest: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(source, oldest)
    with sides.source, sides.target:
        own = {"max.decompressed.message.bytes": "1000000", "remote.copy.lag.ms": "0"}
        name = TopicName(create_topic(source.bootstrap, new_name("new"), 1, own))
        found = sides.diff(name)
        assert [n.text for n in found.notes if n.section is Heading.UNKNOWN] == [
            f"{key}={value} is not copied: Kafka knows it from 4.4 on, and the target is Kafka 3.9"
            for key, value in sorted(own.items())
        ]
        assert not found.problems


def test_what_is_observed_carries_ids_and_configs(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("seen"), 2, message_timestamp_type="LogAppendTime")
    observed = sides.observe(name, rename="eu.{topic}")
    (topic,) = observed.source
    assert observed.names == {name: f"eu.{name}"}
    assert topic.id == sides.source.topics.describe([name])[name].id
    assert topic.own == {"message.timestamp.type": "LogAppendTime"}
    assert topic.configs["cleanup.policy"] == "delete"
    assert (topic.partitions, topic.replication_factor, observed.brokers) == (2, 1, 1)
    assert observed.defaults["retention.ms"] == "-1"
    assert observed.defaults["max.message.bytes"] == "1048588"


def test_groups_of_expressions_name_the_copies(sides: Sides, new_name: NewName) -> None:
    prefix = new_name("captured")
    eu, us, odd = (sides.create(f"{prefix}.{end}") for end in ("eu.orders", "us.orders", "orders"))
    wanted = [rf"{prefix}\.(?P<region>..)\.(?P<what>\w+)"]
    found = sides.diff(*wanted, rename="{what}.{1}")
    assert not apply_all(found.steps, sides.target).failed
    assert found.topics == {eu: "orders.eu", us: "orders.us"}
    assert odd not in found.topics
    assert not sides.diff(*wanted, rename="{what}.{1}").steps
    shared = sides.diff(*wanted, rename=f"{prefix}.{{what}}")
    assert [(each.about, each.cause) for each in shared.problems] == [
        (eu, Cause.FILE),
        (us, Cause.FILE),
    ]
    alike = sides.diff(*wanted, rename=prefix)
    assert [each.about for each in alike.problems] == ["topics.rename"]
    assert (alike.steps, alike.topics) == ((), {})


def test_times_of_records_are_kept_on_the_target(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("appended"), message_timestamp_type="LogAppendTime")
    found = sides.diff(name)
    assert not apply_all(found.steps, sides.target).failed
    configs = sides.target.configs.describe([name])[name]
    assert configs["message.timestamp.type"].value == "CreateTime"
    assert "LogAppendTime is not copied" in texts(found, name)


def test_one_refused_topic_does_not_stop_the_others(sides: Sides, new_name: NewName) -> None:
    first, bad, last = (sides.create(new_name("several")) for _ in range(3))
    good = sides.diff(first, last).steps
    wrong = creates(bad, replicas=7)
    outcome = apply_all((good[0], wrong, good[1]), sides.target)
    assert outcome.done == good
    assert list(outcome.failed) == [bad]
    assert "INVALID_REPLICATION_FACTOR (38)" in str(outcome.failed[bad])


def test_a_step_done_twice_is_done(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("twice"), 2, retention_ms="86400000")
    (step,) = sides.diff(name).steps
    apply(step, sides.target)
    apply(step, sides.target)
    grow = AddPartitions(name, name, 2, 3)
    apply(grow, sides.target)
    apply(grow, sides.target)
    assert len(sides.target.topics.describe([name])[name].partitions) == 3


def test_configs_that_only_the_source_knows_are_left_out(
    oldest: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(oldest, target)
    with sides.source, sides.target:
        name = sides.create(
            new_name("old"), retention_ms="-1", message_timestamp_difference_max_ms="1000"
        )
        found = sides.diff(name)
        assert not apply_all(found.steps, sides.target).failed
        own = sides.own(name)
    assert own["retention.ms"] == "-1"
    assert "message.timestamp.difference.max.ms" not in own
    # Kafka 4 refuses records from the future by default, Kafka 3.9 does not.
    assert int(own["message.timestamp.after.max.ms"]) > 2**62
    assert "do not know them" not in texts(found, name)
    assert "message.timestamp.difference.max.ms is not copied: Kafka 4.0 removed it" in texts(
        found, name
    )


@pytest.mark.soak
def test_a_source_whose_broker_runs_no_cleaner_keeps_what_is_compacted(
    target: LocalCluster, tmp_path: Any, new_name: NewName
) -> None:
    """A policy of `compact` says nothing where no cleaner runs; only brokers' configs tell it."""
    off = {"log.cleaner.enable": "false"}
    with LocalCluster(home=tmp_path / "idle", properties=off) as idle:
        sides, back = Sides(idle, target), Sides(target, idle)
        with sides.source, sides.target, back.source, back.target:
            name = sides.create(new_name("idle"), cleanup_policy="compact")
            plain = sides.create(new_name("plain"))
            seen = sides.observe(name, plain)
            assert [topic.configs.get("log.cleaner.enable") for topic in seen.source] == [
                "false"
            ] * 2
            assert "log.cleaner.enable" not in seen.defaults  # the target's cleaner runs
            held = held_back(seen, sides.link(name, plain), OwnedTopics(begun=True))
            (reason,) = differs(held[name].source.configs, held[name].final, ConfigRules())
            assert (reason.code, dict(reason.values)["by"]) == ("COMPACTION_TIGHTER", "brokers")
            assert plain not in held
            other = back.create(new_name("back"), cleanup_policy="compact")
            there = back.observe(other)
            assert there.defaults["log.cleaner.enable"] == "false"
            assert "log.cleaner.enable" not in there.source[0].configs


@pytest.mark.soak
def test_a_target_without_topics_is_asked_what_it_knows(
    oldest: LocalCluster, tmp_path: Any, new_name: NewName
) -> None:
    with LocalCluster(home=tmp_path / "empty") as empty:
        sides = Sides(oldest, empty)
        with sides.source, sides.target:
            name = sides.create(
                new_name("fresh"), retention_ms="7", message_timestamp_difference_max_ms="1000"
            )
            known = sides.observe(name).known
            assert {"retention.ms", "max.message.bytes", "cleanup.policy"} <= known
            assert "message.timestamp.difference.max.ms" not in known
            assert not sides.target.topics.describe()
            assert not apply_all(sides.diff(name).steps, sides.target).failed


def test_replicas_and_in_sync_replicas_fit_the_target(
    three: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(three, target)
    with sides.source, sides.target:
        name = TopicName(new_name("replicated"))
        sides.source.topics.create(name, 1, 3, {"min.insync.replicas": "2"})
        found = sides.diff(name)
        assert found.steps == (creates(name, configs={"min.insync.replicas": "1"}),)
        assert not apply_all(found.steps, sides.target).failed
    assert "replication factor 1 instead of the source's 3" in texts(found, name)
    assert "min.insync.replicas 1 instead of 2" in texts(found, name)


def test_every_version_takes_what_is_sent(version_target: LocalCluster, new_name: NewName) -> None:
    config = link(version_target.bootstrap, version_target.bootstrap, ".*", rename="x.{topic}")
    name = TopicName(new_name("versions"))
    change = changes(name, {"segment.ms": "600000"}, before={"segment.ms": None})
    steps = (
        creates(name, configs={"retention.ms": "-1"}, replicas=-1),
        change,
    )
    with Admin(config.target, Side.TARGET) as admin:
        assert not check_all(steps[:1], admin)
        assert apply_all(steps, admin).done == steps
        assert not check_all(steps[1:], admin)
        info = admin.topics.describe([name])[name]
        assert non_default(admin.configs.describe([name])[name]) == {
            "retention.ms": "-1", "segment.ms": "600000",
        }  # fmt: skip
        apply(DeleteTopic(name, name, info.id, 1), admin)
        assert name not in admin.topics.describe()


def test_topics_that_brokers_keep_for_themselves_are_not_observed(sides: Sides) -> None:
    """The brokers do not call them internal, and the target has its own."""
    own = sides.create("__remote_log_metadata")
    assert not sides.source.topics.describe([own])[own].internal
    found = sides.observe("__remote.*")
    assert (found.source, own in found.unmatched) == ((), True)
    assert not sides.diff("__remote.*").topics
    assert [*unmatched_expressions(found, sides.link("__remote.*"))] == []


def test_a_topic_whose_header_has_no_value_is_a_problem_of_that_topic(
    sides: Sides, new_name: NewName
) -> None:
    prefix = new_name("headed")
    good, bad = sides.create(f"{prefix}.eu"), sides.create(f"{prefix}_us")
    header = {"name": "from", "template": '${! @kafka_topic.split(".").index(1) }'}
    changes = ChangesConfig.model_validate({"topics": [".*"], "headers": [header]})
    config = sides.link(f"{prefix}.*").model_copy(update={"changes": (changes,)})
    found = diff(observe(sides.source, sides.target, config), config)
    assert found.topics == {good: good}
    [problem] = found.problems
    assert (problem.about, problem.cause) == (bad, Cause.TOPIC)
    assert f"the header from of topic {bad} has no value: index 1 is beyond" in problem.text
