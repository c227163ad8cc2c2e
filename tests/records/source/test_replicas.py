"""Clusters of several brokers: replicas near us, and brokers that advertise a wrong host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.copier import BackDoor, copier, endless, going
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from towpath.cli.main import main
from towpath.cluster.admin import Admin
from towpath.cluster.admin import leaders as asking
from towpath.cluster.connect.connection import UnresolvedError
from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.records.copy import Copier
from towpath.records.lane.lane import Lane
from towpath.records.source import near
from towpath.records.source.fetcher import Fetcher
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(
    tmp_path: Path, three: LocalCluster, target: LocalCluster, new_name: NewName
) -> BackDoor:
    made = BackDoor(tmp_path, three, target, new_name("replicas"))
    made.create()
    return made


def plain(cluster: LocalCluster, rack: str | None = None, timeout: str = "60s") -> ClusterConfig:
    return ClusterConfig(bootstrap=cluster.addresses, rack=rack, request_timeout=timeout)


class Reading:
    """A copier of one partition that wants to read at a follower."""

    def __init__(self, mirror: BackDoor, timeout: str = "60s") -> None:
        self.mirror, self.count = mirror, 0
        self.tp = TopicPartition(TopicName(mirror.topic), 0)
        with Admin(plain(mirror.source), Side.SOURCE) as admin:
            name = self.tp.topic
            wait_until(
                lambda: name in admin.topics.describe([name]), "any broker tells of the topic"
            )
            [partition] = admin.topics.describe([name])[name].partitions
        self.leader = partition.leader
        self.follower = next(node for node in partition.replicas if node != partition.leader)
        source = plain(mirror.source, f"rack-{self.follower}", timeout)
        self.work = replace(endless(mirror.slices()[0]), source=source, target=plain(mirror.target))
        self.served: list[int] = []

    def watch(self, made: Copier) -> Fetcher[Lane]:
        """Note which node each batch comes from."""
        fetcher = made.landing.feed
        assert isinstance(fetcher, Fetcher)
        take = fetcher._on_data

        def on_data(lane: Lane, frame: Frame, said: Fetched) -> None:
            if said.end > said.start:
                self.served.append(fetcher._at[said.tp])
            take(lane, frame, said)

        fetcher._on_data = on_data
        return fetcher

    def write(self) -> int:
        """Write some records, wait until they are copied, and return who served the last."""
        values = [Record(None, b"%d" % (self.count + i)) for i in range(10)]
        produce(self.mirror.source.back_door, self.mirror.topic, values)
        self.count += len(values)
        there = self.mirror.target.back_door
        wait_until(lambda: end_offsets(there, self.mirror.topic)[1] == self.count, "it is copied")
        return self.served[-1]

    def settled(self, made: Copier) -> None:
        """Nothing was lost, nothing doubled, nobody was told of trouble."""
        [done] = made.summaries()
        assert (done.error, done.records) == ("", self.count)
        assert self.mirror.books().gaps == ()
        values = [r.value for r in consume(self.mirror.target.back_door, self.mirror.topic)]
        assert values == [b"%d" % number for number in range(self.count)]


def test_the_nearest_replica_serves_until_it_is_gone(
    mirror: BackDoor, three: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "FAR", 1.0)
    reading = Reading(mirror)
    with copier(reading.work, reading.work.source, reading.work.target) as made:
        fetcher = reading.watch(made)
        with going(made):
            reading.write()
            wait_until(lambda: fetcher._at.get(reading.tp) == reading.follower, "it is near")
            assert reading.write() == reading.follower
            three.kill9(reading.follower)
            try:
                wait_until(lambda: reading.write() == reading.leader, "the leader serves")
                assert made.landing.lanes[reading.tp].progress.error == ""
            finally:
                three.restart(reading.follower)
            wait_until(lambda: reading.write() == reading.follower, "the follower serves again", 60)
        reading.settled(made)


def test_a_frozen_replica_is_left(
    mirror: BackDoor, three: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "FAR", 60.0)
    reading = Reading(mirror, "3s")
    with copier(reading.work, reading.work.source, reading.work.target) as made:
        fetcher = reading.watch(made)
        with going(made):
            reading.write()
            wait_until(lambda: fetcher._at.get(reading.tp) == reading.follower, "it is near")
            assert reading.write() == reading.follower
            three.pause(reading.follower)
            try:
                assert reading.write() == reading.leader
            finally:
                three.resume(reading.follower)
        reading.settled(made)


@pytest.mark.parametrize(
    ("error", "diverging"),
    [(1, None), (78, None), (0, (0, 3))],
    ids=["out of range", "not available", "diverging"],
)
def test_what_a_follower_lacks_is_not_lost(
    mirror: BackDoor, error: int, diverging: tuple[int, int] | None
) -> None:
    reading = Reading(mirror)
    with copier(reading.work, reading.work.source, reading.work.target) as made:
        fetcher = reading.watch(made)
        with going(made):
            reading.write()
            wait_until(
                lambda: (
                    fetcher._near.serves(reading.tp, reading.follower)
                    and reading.follower in fetcher._requests.sessions
                ),
                "it is near",
            )
            session = fetcher._requests.sessions[reading.follower]
            answer, said = session.response, []

            def behind(data: memoryview) -> list[Fetched] | None:
                """Answer as a replica that has not yet what the leader has (KIP-392)."""
                answered = answer(data) or []
                said.extend(answered)
                return [
                    replace(each, error=error, diverging=diverging, end=each.start)
                    for each in answered
                ]

            session.response = behind  # type: ignore[method-assign]
            assert reading.write() == reading.leader
            assert said
            assert made.landing.lanes[reading.tp].progress.error == ""
        reading.settled(made)


BOGUS = "broker.invalid"


@contextmanager
def misnaming(cluster: LocalCluster, node: int) -> Iterator[None]:
    """Let a broker tell clients a host that does not resolve."""
    file = cluster._configs(node)
    before = file.read_text()
    told = "advertised.listeners=CLIENT://127.0.0.1"
    assert told in before
    file.write_text(before.replace(told, told.replace("127.0.0.1", BOGUS)))
    cluster.restart(node)
    try:
        yield
    finally:
        file.write_text(before)
        cluster.restart(node)


def sentence(side: Side, cluster: LocalCluster, node: int) -> str:
    port = cluster.addresses[node - 1].rpartition(":")[2]
    return (
        f"{side}: connecting to broker {node} ({BOGUS}:{port}): the broker advertises the host"
        f" {BOGUS}, which does not resolve here; set `advertised.listeners` of broker {node} to a"
        f" host that clients can reach, or make {BOGUS} resolve on this machine"
    )


def test_only_partitions_of_a_broker_that_cannot_be_found_wait(
    tmp_path: Path,
    three: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "UNKNOWN_PATIENCE", 0.2)
    mirror = BackDoor(tmp_path, three, target, new_name("misnamed"))
    tps = [TopicPartition(TopicName(mirror.topic), number) for number in range(3)]
    with misnaming(three, 3), Admin(plain(three), Side.SOURCE) as admin:
        mirror.create(3)
        wait_until(lambda: leaders(admin, tps) == {1, 2, 3}, "every broker leads")
        [planned] = mirror.slices()
        work = replace(endless(planned), source=plain(three), target=plain(target))
        [lost] = [tp for tp in tps if leaders(admin, [tp]) == {3}]
        began = time.monotonic()
        found = admin.offsets.latest(tps)
        assert time.monotonic() - began < 30, "request_timeout is 60 s"
        assert found.keys() == set(tps) - {lost}
        assert isinstance(found.failed[lost], UnresolvedError)
        assert str(found.failed[lost]) == sentence(Side.SOURCE, three, 3)
        assert admin.cluster.broker_config("message.max.bytes") == "1048588"
        records = [Record(None, b"%d" % number, partition=number) for number in range(3)]
        produce(three.back_door, mirror.topic, records)
        with copier(work, work.source, work.target) as made, going(made):
            wait_until(
                lambda: (
                    [end_offsets(target.back_door, tp.topic, tp.partition)[1] for tp in tps]
                    == [int(tp != lost) for tp in tps]
                ),
                "the others are copied",
            )
            progress = made.landing.lanes[lost].progress
            wait_until(lambda: progress.error == sentence(Side.SOURCE, three, 3), "it is told")
            assert all(made.landing.lanes[tp].progress.error == "" for tp in tps if tp != lost)
    receipt = mirror.books(lost.partition).receipt
    assert receipt is not None
    assert receipt.error == sentence(Side.SOURCE, three, 3)


def leaders(admin: Admin, tps: list[TopicPartition]) -> set[int]:
    found = admin.topics.describe([tp.topic for tp in tps])[tps[0].topic].partitions
    return {found[tp.partition].leader for tp in tps}


def test_a_cluster_that_cannot_be_found_is_told(
    tmp_path: Path,
    source: LocalCluster,
    target: SharedCluster,
    new_name: NewName,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = target.through("MISNAMED")
    mirror = BackDoor(tmp_path, source, cluster, new_name("misnamed"), timeout="2s")
    mirror.create()
    mirror.slices()
    file = tmp_path / "link.yaml"
    text = (tmp_path / f"{mirror.topic}.yaml").read_text()
    file.write_text(text.replace(f"'{cluster.back_door}'", f"'{cluster.bootstrap}'"))
    assert main(["status", str(file)]) == 4
    said = " ".join(capsys.readouterr().err.split())
    assert sentence(Side.TARGET, cluster, 1) in said
