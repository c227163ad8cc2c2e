"""Observe, diff and apply on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.config import LinkConfig
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName
from towpath.topics.apply import apply_all
from towpath.topics.diff import Difference, diff
from towpath.topics.observe import observe
from towpath.topics.steps import AddPartitions, CreateTopic

from tests.support.kafka import create_topic

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


def link(source: LocalCluster, target: LocalCluster, *include: str, **topics: object) -> LinkConfig:
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": source.bootstrap, "request_timeout": "10s"},
            "target": {"bootstrap": target.bootstrap, "request_timeout": "10s"},
            "link": "test",
            "topics": {"include": list(include), **topics},
        }
    )


class Sides:
    """Both clusters' control planes, and what is done with them."""

    def __init__(self, source: LocalCluster, target: LocalCluster) -> None:
        config = link(source, target, ".*")
        self.clusters = (source, target)
        self.source = Admin(config.source, Side.SOURCE)
        self.target = Admin(config.target, Side.TARGET)

    def diff(self, *include: str, **topics: object) -> Difference:
        config = link(*self.clusters, *include, **topics)
        return diff(observe(self.source, self.target, config), config.records)

    def own(self, topic: str) -> dict[str, str]:
        return non_default(self.target.configs([TopicName(topic)])[TopicName(topic)])


@pytest.fixture
def sides(source: LocalCluster, target: LocalCluster) -> Iterator[Sides]:
    made = Sides(source, target)
    with made.source, made.target:
        yield made


def texts(found: Difference, topic: str) -> list[str]:
    return [note.text for note in found.notes if note.about == topic]


def test_a_topic_is_created_as_on_the_source(sides: Sides, new_name: NewName) -> None:
    configs = {"cleanup.policy": "compact", "max.message.bytes": "2097152", "segment.ms": "600000"}
    name = create_topic(sides.clusters[0].bootstrap, new_name("same"), 3, configs)
    found = sides.diff(name)
    assert found.steps == (CreateTopic(TopicName(name), TopicName(name), 3, 1, configs),)
    assert not found.obstacles
    assert apply_all(found.steps, sides.target).done == found.steps
    assert sides.own(name) == configs
    assert not sides.diff(name).steps


def test_growth_is_followed(sides: Sides, new_name: NewName) -> None:
    name = TopicName(create_topic(sides.clusters[0].bootstrap, new_name("grown"), 2))
    apply_all(sides.diff(name).steps, sides.target)
    sides.source.add_partitions(name, 5)
    found = sides.diff(name)
    assert found.steps == (AddPartitions(name, name, 2, 5),)
    assert not apply_all(found.steps, sides.target).failed
    assert len(sides.target.topics([name])[name].partitions) == 5
    assert not sides.diff(name).steps
