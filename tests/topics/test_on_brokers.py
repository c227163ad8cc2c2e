"""Observe, diff and apply on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.clusters import Clusters
from tests.support.kafka import create_topic
from tests.topics.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.config import LinkConfig
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName
from towpath.topics.apply import apply, apply_all
from towpath.topics.diff import Difference, diff
from towpath.topics.errors import StepOutdatedError
from towpath.topics.observe import Observed, observe
from towpath.topics.steps import AddPartitions, CreateTopic

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


class Sides:
    """Both clusters' control planes, and what is done with them."""

    def __init__(self, source: LocalCluster, target: LocalCluster) -> None:
        self._addresses = source.bootstrap, target.bootstrap
        config = self.link(".*")
        self.source = Admin(config.source, Side.SOURCE)
        self.target = Admin(config.target, Side.TARGET)

    def link(self, *include: str, **options: Any) -> LinkConfig:
        return link(*self._addresses, *include, **options)

    def observe(self, *include: str, **options: Any) -> Observed:
        return observe(self.source, self.target, self.link(*include, **options))

    def diff(self, *include: str, **options: Any) -> Difference:
        config = self.link(*include, **options)
        return diff(self.observe(*include, **options), config.records)

    def create(self, name: str, partitions: int = 1, **configs: str) -> TopicName:
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        return TopicName(create_topic(self._addresses[0], name, partitions, settings))

    def own(self, topic: TopicName) -> dict[str, str]:
        return non_default(self.target.configs([topic])[topic])


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def texts(found: Difference, topic: str) -> str:
    return "\n".join(note.text for note in found.notes if note.about == topic)


def test_a_topic_is_created_as_on_the_source(sides: Sides, new_name: NewName) -> None:
    configs = {"cleanup.policy": "compact", "max.message.bytes": "2097152", "segment.ms": "600000"}
    name = TopicName(new_name("same"))
    sides.create(
        name, 3, cleanup_policy="compact", max_message_bytes="2097152", segment_ms="600000"
    )
    found = sides.diff(name)
    assert found.steps == (CreateTopic(name, name, 3, 1, configs),)
    assert found.topics == {name: name}
    assert not found.obstacles
    assert apply_all(found.steps, sides.target).done == found.steps
    assert sides.own(name) == configs
    assert not sides.diff(name).steps


def test_what_is_observed_carries_ids_and_settings(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("seen"), 2, message_timestamp_type="LogAppendTime")
    observed = sides.observe(name, rename="eu.{topic}")
    (topic,) = observed.source
    assert observed.names == {name: f"eu.{name}"}
    assert topic.id == sides.source.topics([name])[name].id
    assert topic.own == {"message.timestamp.type": "LogAppendTime"}
    assert topic.settings["cleanup.policy"] == "delete"
    assert (topic.partitions, topic.replication_factor, observed.brokers) == (2, 1, 1)
    assert observed.defaults["retention.ms"] == "-1"
    assert observed.defaults["max.message.bytes"] == "1048588"


def test_growth_is_followed(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("grown"), 2)
    apply_all(sides.diff(name).steps, sides.target)
    sides.source.add_partitions(name, 5)
    found = sides.diff(name)
    assert found.steps == (AddPartitions(name, name, 2, 5),)
    assert not apply_all(found.steps, sides.target).failed
    assert len(sides.target.topics([name])[name].partitions) == 5
    assert not sides.diff(name).steps


def test_times_of_records_are_kept_on_the_target(sides: Sides, new_name: NewName) -> None:
    name = sides.create(new_name("appended"), message_timestamp_type="LogAppendTime")
    found = sides.diff(name)
    assert not apply_all(found.steps, sides.target).failed
    settings = sides.target.configs([name])[name]
    assert settings["message.timestamp.type"].value == "CreateTime"
    assert "LogAppendTime is not copied" in texts(found, name)


def test_one_refused_topic_does_not_stop_the_others(sides: Sides, new_name: NewName) -> None:
    first, bad, last = (sides.create(new_name("several")) for _ in range(3))
    good = sides.diff(first, last).steps
    wrong = CreateTopic(bad, bad, 1, 7, {})
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
    assert len(sides.target.topics([name])[name].partitions) == 3


def test_a_step_is_refused_when_the_target_changed(sides: Sides, new_name: NewName) -> None:
    name = TopicName(new_name("changed"))
    apply(CreateTopic(name, name, 2, 1, {"retention.ms": "1000"}), sides.target)
    advice = "; look who else changes it, then plan again"
    changed = f"target: topic {name} changed since this was planned: it should have "
    for step, expected in (
        (CreateTopic(name, name, 3, 1, {}), "3 partitions and has 2 partitions"),
        (CreateTopic(name, name, 1, 1, {}), "1 partition and has 2 partitions"),
        (
            CreateTopic(name, name, 2, 1, {"retention.ms": "5"}),
            "retention.ms=5 and has retention.ms=1000",
        ),
        (AddPartitions(name, name, 1, 4), "1 partition and has 2 partitions"),
    ):
        with pytest.raises(StepOutdatedError) as caught:
            apply(step, sides.target)
        assert str(caught.value) == changed + expected + advice
    gone = TopicName(new_name("gone"))
    with pytest.raises(StepOutdatedError, match="2 partitions and has none: it is gone"):
        apply(AddPartitions(gone, gone, 2, 4), sides.target)


def test_settings_that_only_the_source_knows_are_left_out(
    clusters: Clusters, target: LocalCluster, new_name: NewName
) -> None:
    old = clusters.get("source", "3.9.2")
    sides = Sides(old, target)
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
    assert "does not know them: message.timestamp.difference.max.ms" in texts(found, name)


def test_a_target_without_topics_is_asked_what_it_knows(
    clusters: Clusters, tmp_path: Any, new_name: NewName
) -> None:
    old = clusters.get("source", "3.9.2")
    with LocalCluster(home=tmp_path / "empty") as empty:
        sides = Sides(old, empty)
        with sides.source, sides.target:
            name = sides.create(
                new_name("fresh"), retention_ms="7", message_timestamp_difference_max_ms="1000"
            )
            assert sides.observe(name).known == {"retention.ms"}
            assert not sides.target.topics()
            assert not apply_all(sides.diff(name).steps, sides.target).failed


def test_replicas_and_in_sync_replicas_fit_the_target(
    three_source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(three_source, target)
    with sides.source, sides.target:
        name = TopicName(new_name("replicated"))
        sides.source.create_topic(name, 1, 3, {"min.insync.replicas": "2"})
        found = sides.diff(name)
        assert found.steps == (CreateTopic(name, name, 1, 1, {"min.insync.replicas": "1"}),)
        assert not apply_all(found.steps, sides.target).failed
    assert "replication factor 1 instead of the source's 3" in texts(found, name)
    assert "min.insync.replicas 1 instead of 2" in texts(found, name)
