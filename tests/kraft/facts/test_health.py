"""Which partitions a restart would hurt."""

from __future__ import annotations

from dataclasses import replace

from towpath.kraft.facts.health import health_of
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import Health, MetadataLogSeen, ZooKeeperSeen

WELL = PartitionImage(replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=0, partition_epoch=0)
LACKING = replace(WELL, isr=(1,))
OFFLINE = replace(WELL, isr=(2,), leader=-1)
GROWING = replace(WELL, replicas=(1, 2, 3), adding=(3,))


def image(*partitions: PartitionImage) -> ClusterImage:
    return ClusterImage(topics={"a": TopicImage("x", dict(enumerate(partitions)))})


def zookeeper(found: ClusterImage) -> ZooKeeperSeen:
    return ZooKeeperSeen(
        cluster_id="c",
        controller=None,
        controller_epoch=None,
        migration=None,
        brokers=frozenset(),
        image=found,
    )


def log(found: ClusterImage, state: LogState) -> MetadataLogSeen:
    return MetadataLogSeen(
        state=state, copying=False, copied=None, end=0, features={}, brokers={}, ready={},
        image=found,
    )  # fmt: skip


def test_partitions_that_lack_a_replica_or_a_leader_are_named() -> None:
    found = health_of(zookeeper(image(WELL, LACKING, OFFLINE, GROWING)), None)
    assert found == Health(offline=("a-2",), under_replicated=("a-1", "a-2"))


def test_the_store_that_decides_is_asked() -> None:
    sick, well = image(OFFLINE), image(WELL)
    for state in LogState:
        decides = state in {LogState.MIGRATION, LogState.POST_MIGRATION}
        found = health_of(zookeeper(sick), log(well, state))
        assert found is not None
        assert bool(found.offline) is not decides


def test_where_nobody_tells_no_health_is_known() -> None:
    assert health_of(None, None) is None
    assert health_of(None, log(image(OFFLINE), LogState.PRE_MIGRATION)) is None
