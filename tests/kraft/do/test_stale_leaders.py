"""Which leaders get a new leader epoch behind a rollback, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import pytest

from tests.support.kraft.worlds import (
    at_stage,
    kraft_config,
    start_of,
    with_broker,
    with_zookeeper,
)
from towpath.cluster.metadata import Answers
from towpath.kraft.do import stale_leaders
from towpath.kraft.do.stale_leaders import IsrWatch, lagging
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import NodeId, Stage
from towpath.kraft.facts.seen import ControllerZnode, Observation
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import TopicName, TopicPartition

CONFIG = kraft_config()
TP = TopicPartition(TopicName("orders"), 0)


def image(**partition: Any) -> ClusterImage:
    facts: dict[str, Any] = {"replicas": (0, 1), "isr": (0,), "leader": 0, "partition_epoch": 30}
    made = PartitionImage(**{**facts, "leader_epoch": 7, **partition})
    return ClusterImage(topics={"orders": TopicImage("id", {0: made})})


def behind(**partition: Any) -> Observation:
    """Return what is seen of a cluster in ZooKeeper mode in which a replica is not in sync."""
    return with_zookeeper(start_of(CONFIG), image=image(**partition))


def test_a_partition_whose_replicas_all_serve_may_have_a_stale_leader() -> None:
    assert set(lagging(behind())) == {TP}
    assert not lagging(behind(isr=(1, 0)))
    assert set(lagging(with_broker(behind(), 2, running=False))) == {TP}, "it has no replica there"


@pytest.mark.parametrize(
    "seen",
    [
        with_broker(behind(), 1, running=False),
        with_broker(behind(), 1, mode=None),
        with_zookeeper(behind(), brokers=frozenset({NodeId(0)})),
        behind(leader=-1),
        behind(adding=(1,)),
        with_zookeeper(behind(), reassigning=("orders-0",)),
        with_zookeeper(behind(), controller=None),
        with_zookeeper(
            behind(), controller=ControllerZnode(id=NodeId(3000), kraft_epoch=3, ephemeral=False,
                                                 version=1)
        ),
        with_zookeeper(at_stage(CONFIG, Stage.HYBRID), image=image()),
        replace(behind(), zookeeper=None),
    ],
)  # fmt: skip
def test_other_partitions_are_left_alone(seen: Observation) -> None:
    assert not lagging(seen)


class Cluster:
    """Stands in for `Admin`: keeps what was asked for."""

    def __init__(self) -> None:
        self.replicas = self
        self.asked: list[Mapping[TopicPartition, Sequence[int]]] = []
        self.error: ClusterError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def assign(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> Answers[TopicPartition, None]:
        self.asked.append(replicas)
        if self.error is not None:
            raise self.error
        return Answers(dict.fromkeys(replicas), {})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(stale_leaders, "Admin", lambda *_: made)
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("towpath.kraft.do.stale_leaders.time.monotonic", lambda: now[0])
    return now


def test_leaders_get_a_new_epoch_once_replicas_stay_behind_and_less_often_then(
    cluster: Cluster, clock: list[float]
) -> None:
    told = list[str]()
    watch = IsrWatch(CONFIG.cluster, told.append)
    asked, found = list[int](), None
    for second in range(250):
        clock[0] = float(second)
        found = watch.missing(behind())
        asked.append(len(cluster.asked))
    assert [asked.index(count) for count in range(1, 8)] == [20, 25, 35, 55, 95, 155, 215]
    assert cluster.asked[0] == {TP: (0, 1)}, "the replicas that it has already"
    assert watch.renewed == 7
    assert told[0] == "giving the leaders of 1 partitions a new leader epoch: all replicas run"
    text = "not all replicas in sync in 1 partitions: orders-0; 1 leaders got a new leader epoch"
    assert found == f"{text}, 7 times by now"
    assert watch.missing(behind(isr=(0, 1))) is None


def test_a_replica_that_came_into_sync_meanwhile_starts_the_wait_again(
    cluster: Cluster, clock: list[float]
) -> None:
    watch = IsrWatch(CONFIG.cluster, lambda _: None)
    for second, seen in ((0, behind()), (19, with_broker(behind(), 1, mode=None)), (30, behind())):
        clock[0] = float(second)
        watch.missing(seen)
    assert not cluster.asked


def test_brokers_that_refuse_are_told_and_waited_for(cluster: Cluster, clock: list[float]) -> None:
    cluster.error = UnreachableError("cluster", "assigning", "no broker answered")
    watch = IsrWatch(CONFIG.cluster, lambda _: None)
    watch.missing(behind())
    clock[0] = 20.0
    found = watch.missing(behind())
    assert found is not None
    assert "orders-0; their leaders got no new leader epoch: " in found
    assert watch.renewed == 0
