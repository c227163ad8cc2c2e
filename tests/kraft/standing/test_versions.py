"""ZooKeeper's versions of partition states are raised to those that leaders know, before a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.kraft.worlds import at_stage, kraft_config, walk, with_log, with_zookeeper
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import Goal, Stage
from towpath.kraft.facts.seen import Observation
from towpath.kraft.standing.partition_versions import lower_versions
from towpath.kraft.steps.raise_partition_versions import RaisePartitionVersions
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.model.nouns import TopicName, TopicPartition

CONFIG = kraft_config(brokers=2)
TP = TopicPartition(TopicName("orders"), 0)


def image(version: int, topic: str = "id") -> ClusterImage:
    facts: dict[str, Any] = {"replicas": (0, 1), "isr": (0, 1), "leader": 0, "leader_epoch": 7}
    made = PartitionImage(**facts, partition_epoch=version)
    return ClusterImage(topics={"orders": TopicImage(topic, {0: made})})


def seen_at(stage: Stage, zookeeper: int, log: int) -> Observation:
    seen = with_zookeeper(at_stage(CONFIG, stage), image=image(zookeeper))
    return with_log(seen, image=image(log))


@pytest.mark.parametrize(("zookeeper", "log", "found"), [(4, 7, {TP: 7}), (7, 7, {}), (9, 7, {})])
def test_those_that_are_lower_in_zookeeper_are_found(
    zookeeper: int, log: int, found: dict[TopicPartition, int]
) -> None:
    assert lower_versions(seen_at(Stage.HYBRID, zookeeper, log)) == found


def test_partitions_of_one_store_alone_are_left_out() -> None:
    seen = seen_at(Stage.HYBRID, 4, 7)
    assert not lower_versions(with_zookeeper(seen, image=image(4, "made anew")))
    assert not lower_versions(with_zookeeper(seen, image=ClusterImage()))
    assert not lower_versions(replace(seen, log=None))
    assert not lower_versions(replace(seen, zookeeper=None))


@pytest.mark.parametrize("stage", [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE])
def test_they_are_raised_right_before_the_controllers_stop(stage: Stage) -> None:
    steps = [step for step, _ in walk(CONFIG, seen_at(stage, 4, 7), Goal.ZOOKEEPER)[0]]
    raised = steps.index(RaisePartitionVersions(1))
    assert isinstance(steps[raised + 1], StopControllers)


def test_forwards_they_are_left_as_they_are() -> None:
    done, _ = walk(CONFIG, seen_at(Stage.HYBRID, 4, 7), Goal.FINAL)
    assert not [step for step, _ in done if isinstance(step, RaisePartitionVersions)]
