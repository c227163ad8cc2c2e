"""Brokers that die, freeze and move, and connections that are cut, while a mirror runs."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import (
    PARTITIONS,
    PLAIN,
    TRANSACTIONAL,
    Scene,
    parts,
    soak_rounds,
)
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.session import selection
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
KINDS = (PLAIN, TRANSACTIONAL)


@contextmanager
def playing(scene: Scene) -> Iterator[None]:
    """Write and copy meanwhile, then compare."""
    try:
        scene.begin(pause=0.05)
        for work in scene.slices(1):
            scene.copiers.start(work)
        yield
        scene.finish()
        assert scene.compare() > 0
    finally:
        scene.close()


@dataclass(frozen=True, slots=True)
class Sides:
    """A source and a target; those with three brokers can lose any one of them."""

    source: LocalCluster
    target: LocalCluster

    @property
    def of_three(self) -> list[LocalCluster]:
        """The sides with three brokers."""
        return [each for each in (self.source, self.target) if len(each.addresses) == 3]


@pytest.fixture
def sides(
    request: pytest.FixtureRequest,
    source: LocalCluster,
    target: LocalCluster,
    three: LocalCluster,
    rng: random.Random,
) -> Sides:
    """Return two clusters of three brokers for a soak, otherwise three brokers on either side."""
    if selection.soak_seconds() or soak_rounds():
        # Who has `three` to itself has this one to itself, too.
        return Sides(request.getfixturevalue("three_more"), three)
    return rng.choice((Sides(three, target), Sides(source, three)))


@pytest.mark.chaos
def test_brokers_that_die_and_come_back(
    tmp_path: Path,
    sides: Sides,
    new_name: NewName,
    rng: random.Random,
    soak_seconds: int,
) -> None:
    for rounds in parts(2, 6, soak_seconds):
        mirror = Mirror(tmp_path, sides.source, sides.target, new_name("brokers"))
        with playing(Scene(mirror, rng, KINDS)):
            for number in range(rounds):
                cluster = sides.of_three[number % len(sides.of_three)]
                _strike(cluster, rng)
                time.sleep(rng.uniform(0.2, 2.0))
        sys.stderr.write(f"{rounds} rounds (brokers), no difference\n")


def _strike(cluster: LocalCluster, rng: random.Random) -> None:
    broker = rng.randrange(1, 4)
    how = rng.choice(("kill", "kill", "stop", "pause")) if soak_rounds() else "kill"
    if how == "pause":
        cluster.pause(broker)
        time.sleep(rng.uniform(1.0, 6.0))
        cluster.resume(broker)
        return
    (cluster.stop_broker if how == "stop" else cluster.kill9)(broker)
    time.sleep(rng.uniform(0.0, 4.0))
    cluster.restart(broker)


@pytest.mark.soak
def test_every_broker_of_both_sides_is_restarted_under_load(
    tmp_path: Path,
    three: SharedCluster,
    three_more: SharedCluster,
    new_name: NewName,
    rng: random.Random,
) -> None:
    """Two by two, one on either side: records, offsets, timestamps and ends of logs are the same.

    A transaction takes its marker's offset on both sides, so its end is where it was.
    """
    mirror = Mirror(tmp_path, three_more, three, new_name("rolled"))
    scene = Scene(mirror, rng, KINDS)
    with playing(scene):
        for here, there in zip(rng.sample((1, 2, 3), 3), rng.sample((1, 2, 3), 3), strict=True):
            for cluster, broker in ((three_more, here), (three, there)):
                cluster.stop_broker(broker)
                time.sleep(rng.uniform(0.0, 1.0))
            for cluster, broker in ((three_more, here), (three, there)):
                cluster.restart(broker)
                time.sleep(rng.uniform(0.0, 2.0))
    for topic in map(scene.topic, KINDS):
        for partition in range(PARTITIONS):
            ends = [
                end_offsets(each.bootstrap, topic, partition)[1] for each in (three_more, three)
            ]
            assert ends[0] == ends[1], f"{topic}-{partition}"


@pytest.mark.chaos
def test_leaders_that_move_cost_no_record(
    tmp_path: Path, sides: Sides, new_name: NewName, rng: random.Random
) -> None:
    mirror = Mirror(tmp_path, sides.source, sides.target, new_name("moves"))
    scene = Scene(mirror, rng, KINDS)
    topics = [scene.topic(kind) for kind in KINDS]
    with playing(scene):
        boot = sides.target.bootstrap
        wait_until(lambda: end_offsets(boot, topics[0])[1] > 0, "something is copied")
        for cluster in sides.of_three:
            for _ in range(2):
                _freeze_a_leader(cluster, topics, rng)
            _prefer_again(cluster, topics)


def _freeze_a_leader(cluster: LocalCluster, topics: list[str], rng: random.Random) -> None:
    """Freeze a broker until others lead what it led."""
    broker = rng.choice(sorted(_leaders(cluster, topics)))
    cluster.pause(broker)
    try:
        wait_until(
            lambda: broker not in _leaders(cluster, topics), f"broker {broker} leads no more"
        )
    finally:
        cluster.resume(broker)


def _leaders(cluster: LocalCluster, topics: list[str]) -> set[int]:
    """Return who leads some partition; all brokers while nobody can tell."""
    try:
        found = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=10).topics
    except KafkaException:
        return {1, 2, 3}
    return {each.leader for topic in topics for each in found[topic].partitions.values()}


def _prefer_again(cluster: LocalCluster, topics: list[str]) -> None:
    partitions = [TopicPartition(topic, each) for topic in topics for each in range(PARTITIONS)]

    def elects() -> bool:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        try:
            admin.elect_leaders(ElectionType.PREFERRED, partitions).result(30)
        except KafkaException:
            return False  # the one that was asked has just learned of another place of a broker
        return True

    wait_until(elects, "the preferred ones lead again")


@pytest.mark.chaos
def test_cuts_and_latency_cost_no_record(
    tmp_path: Path,
    source: SharedCluster,
    lone: SharedCluster,
    toxiproxy: Toxiproxy,
    new_name: NewName,
    rng: random.Random,
    soak_seconds: int,
) -> None:
    for rounds in parts(4, 20, soak_seconds):
        mirror = Proxied(tmp_path, source, lone, new_name("cuts"))
        with playing(Scene(mirror, rng, KINDS)):
            for _ in range(rounds):
                cluster = rng.choice((source, lone))
                _disturb(toxiproxy, cluster, rng)
                time.sleep(rng.uniform(0.5, 2.0))
                toxiproxy.reset()
        sys.stderr.write(f"{rounds} rounds (connections), no difference\n")


def _disturb(toxiproxy: Toxiproxy, cluster: SharedCluster, rng: random.Random) -> None:
    kind = rng.choice(("cut", "latency", "limit", "reset"))
    if kind == "cut":
        toxiproxy.cut(cluster)
    elif kind == "latency":
        toxiproxy.add(cluster, "latency", latency=rng.randrange(50, 800), jitter=50)
    elif kind == "limit":
        stream = rng.choice(("upstream", "downstream"))
        toxiproxy.add(cluster, "limit_data", stream, bytes=rng.randrange(100, 200_000))
    else:
        toxiproxy.add(cluster, "reset_peer", timeout=rng.randrange(500))


class Proxied(Mirror):
    """A mirror that reaches both clusters through the proxy; nobody else does."""

    def address(self, cluster: LocalCluster) -> str:
        assert isinstance(cluster, SharedCluster)
        return cluster.through("PROXIED").bootstrap


@pytest.mark.chaos
def test_a_target_that_freezes_costs_no_record(
    tmp_path: Path,
    source: LocalCluster,
    lone: LocalCluster,
    new_name: NewName,
    rng: random.Random,
) -> None:
    mirror = Mirror(tmp_path, source, lone, new_name("frozen"))
    with playing(Scene(mirror, rng, KINDS)):
        for _ in range(2):
            time.sleep(rng.uniform(0.5, 1.5))
            lone.pause(1)
            time.sleep(rng.uniform(0.5, 4.0))
            lone.resume(1)


def test_a_marker_that_a_later_leader_wrote(
    tmp_path: Path, three: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    """Nothing was cut: what lies before the marker is of an earlier leader epoch."""
    mirror = Mirror(tmp_path, three, target, new_name("marker"))
    mirror.create()
    boot, topic = three.bootstrap, mirror.topic
    writer = Producer({"bootstrap.servers": boot, "transactional.id": topic})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.produce(topic, b"before", partition=0)
    writer.flush(30)
    leader = AdminClient({"bootstrap.servers": boot}).list_topics(topic).topics[topic].partitions[0]
    three.stop_broker(leader.leader)
    try:
        writer.commit_transaction(60)
        assert [done.error for done in mirror.catch_up()] == [""]
        produce(boot, topic, [Record(None, b"after")])
        assert [done.error for done in mirror.catch_up()] == [""]
    finally:
        three.restart(leader.leader)
    assert [record.value for record in consume(target.bootstrap, topic)] == [b"before", b"after"]
