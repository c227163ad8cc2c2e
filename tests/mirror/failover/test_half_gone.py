"""A failover whose source is half gone: one broker of three is away, with leaders and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.groups import rest
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.clusters import Clusters
from tests.support.copying.quarantine import begin
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, commit, create_topic, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.alone("half")]
PARTITIONS, GROUPS, MORE = 3, 6, 7


def some(first: int, count: int, partition: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(first, first + count)]


@pytest.fixture
def half(clusters: Clusters) -> SharedCluster:
    """Return three brokers whose groups have one replica each."""
    alone = {"offsets.topic.replication.factor": "1"}
    return clusters.get("half", brokers=3, properties=alone)


@pytest.fixture(params=["killed", "frozen"])
def away(request: pytest.FixtureRequest, half: SharedCluster) -> Iterator[Callable[[int], None]]:
    """Return what takes a broker away; it is there again behind the test."""
    gone: list[int] = []

    def take(broker: int) -> None:
        gone.append(broker)
        (half.kill9 if request.param == "killed" else half.pause)(broker)

    yield take
    for each in gone:
        (half.restart if request.param == "killed" else half.resume)(each)


def leader(cluster: LocalCluster, topic: str, partition: int) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return int(admin.list_topics(topic, 30).topics[topic].partitions[partition].leader)


def coordinators(mirror: Mirror, groups: list[str]) -> dict[str, int]:
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        listed = admin.groups.listed().groups
    return {group: listed[group].coordinator.id for group in groups}


def mirrored(mirror: Mirror, here: Here) -> tuple[str, list[str]]:
    """Copy 100 records of each partition, 60 of which each group has read."""
    source = mirror.source.bootstrap
    create_topic(source, mirror.topic, PARTITIONS, {"min.insync.replicas": "1"}, 1)
    create_topic(mirror.target.bootstrap, mirror.topic, PARTITIONS)
    groups = [f"{mirror.topic}-group-{n}" for n in range(GROUPS)]
    for partition in range(PARTITIONS):
        produce(source, mirror.topic, some(0, 100, partition))
        for group in groups:
            commit(source, group, mirror.topic, partition, 60)
    begin(mirror)
    file = str(mirror.folder / f"{mirror.config.link}.yaml")
    assert here("groups", "sync", file).code in {0, 3}
    for partition in range(PARTITIONS):
        produce(source, mirror.topic, some(100, MORE, partition))
    return file, groups


def check(plan: Any, mirror: Mirror, lost: int, silent: set[str]) -> None:
    """What answers is exact; of the rest, the ledger tells."""
    assert plan["source_gone"] is None
    told = {each["partition"]: each for each in plan["partitions"]}
    assert [told[n]["missing"] for n in range(PARTITIONS)] == [
        None if n == lost else MORE for n in range(PARTITIONS)
    ]
    assert told[lost]["silent"] is not None
    assert (plan["lost"], plan["unknown"]) == (MORE * (PARTITIONS - 1), 1)
    assert {*plan["remembered"]} == silent
    assert plan["groups_failed"] == {}
    stands = {(each["group"], each["partition"]): each for each in plan["positions"]}
    assert len(stands) == GROUPS * PARTITIONS
    assert {each["target"] for each in stands.values()} == {60}
    assert {each["exactness"] for each in stands.values()} == {"exact"}
    assert (plan["again"], plan["again_at_most"]) == (0, 40 * PARTITIONS * len(silent))
    del mirror


def test_what_answers_is_exact_and_the_ledger_tells_the_rest(
    tmp_path: Path,
    half: SharedCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    away: Callable[[int], None],
) -> None:
    mirror = Mirror(tmp_path, half, target, new_name("half"), sections="groups: {}\n", timeout="5s")
    file, groups = mirrored(mirror, here)
    led = coordinators(mirror, groups)
    assert len({*led.values()}) > 1, "some groups stay"
    broker = led[groups[0]]
    lost = next(n for n in range(PARTITIONS) if leader(half, mirror.topic, n) == broker)
    silent = {group for group, where in led.items() if where == broker}
    away(broker)
    wait_until(lambda: leader(half, mirror.topic, lost) == -1, "it is known to be away", 60)
    check(here("failover", file, "--dry-run", "-o", "json").json["plan"], mirror, lost, silent)
    done = here("failover", file, "--yes", "-o", "json")
    assert (done.json["done"], done.json["fenced"]) == (True, PARTITIONS), done.said
    assert done.json["state"][0]["state"] == "failed_over"
    assert done.json["missing"] == []
    check(done.json["after"], mirror, lost, silent)
    for partition in range(PARTITIONS):
        produce(target.bootstrap, mirror.topic, some(900, 2, partition))
    for group in (groups[0], next(each for each in groups if each not in silent)):
        read = rest(target, group, mirror.topic, PARTITIONS)
        assert len(read) == PARTITIONS * (40 + 2)


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_all_is_known_again_once_the_broker_is_back(
    tmp_path: Path,
    half: SharedCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    how: str,
) -> None:
    """A partition with a second replica has another leader, and tells all; nothing is lost."""
    mirror = Mirror(tmp_path, half, target, new_name("half"), timeout="5s")
    source, topic = half.bootstrap, mirror.topic
    create_topic(source, topic, PARTITIONS, {"min.insync.replicas": "1"}, 2)
    create_topic(target.bootstrap, topic, PARTITIONS)
    for partition in range(PARTITIONS):
        produce(source, topic, some(0, 10, partition))
    begin(mirror)
    for partition in range(PARTITIONS):
        produce(source, topic, some(10, MORE, partition))
    broker = leader(half, topic, 0)
    (half.kill9 if how == "killed" else half.pause)(broker)
    try:
        wait_until(lambda: leader(half, topic, 0) not in {-1, broker}, "another one leads", 60)
        file = str(tmp_path / f"{mirror.config.link}.yaml")
        plan = here("failover", file, "--dry-run", "-o", "json").json["plan"]
        assert (plan["lost"], plan["unknown"]) == (MORE * PARTITIONS, 0)
        done = here("failover", file, "--yes", "-o", "json").json
        assert (done["done"], done["after"]["lost"], done["fenced"]) == (True, 21, PARTITIONS)
    finally:
        (half.restart if how == "killed" else half.resume)(broker)
    wait_until(lambda: end_offsets(source, topic)[1] == 10 + MORE, "it is back", 60)
    back = here("failback", file, "--dry-run", *MASTER, "-o", "json").json
    assert (back["left_at_source"], back["undecided"]) == (MORE * PARTITIONS, 0)
    assert TopicName(topic) in {each["topic"] for each in back["partitions"]}
