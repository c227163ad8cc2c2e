"""Sessions of SASL that end while we work (KIP-368): nobody notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.fleet import LOGIN_LIFE, USERS
from tests.support.copying.copier import BackDoor, copier, endless, going
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.nodes import Nodes
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.records.source.fetcher import Fetcher
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig
from towpath.wire.filler import filler

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
LIVES = 2
MECHANISMS = ("PLAIN", "SCRAM-SHA-512")


@pytest.fixture
def forgetful_source(secured_source: SharedCluster) -> SharedCluster:
    """Return a cluster on which a login soon ends."""
    return secured_source.through("SHORT")


@pytest.fixture
def forgetful_target(secured_target: SharedCluster) -> SharedCluster:
    return secured_target.through("SHORT")


def config(cluster: LocalCluster, mechanism: str) -> ClusterConfig:
    sasl: Any = {"mechanism": mechanism, "username": "admin", "password": USERS["admin"]}
    return ClusterConfig(bootstrap=cluster.addresses, sasl=sasl)


def test_blocking_calls_outlive_their_login(
    forgetful_target: LocalCluster, new_name: NewName
) -> None:
    tp = TopicPartition(TopicName(create_topic(forgetful_target.back_door, new_name("life"))), 0)
    own = config(forgetful_target, MECHANISMS[1])
    with Admin(own, Side.TARGET) as admin, Client(own, Side.TARGET, admin) as client:
        end, offset = Deadline.after(60), 0
        logins: set[Deadline] = set()
        while len(logins) < LIVES:
            assert not end.over, "no login was renewed"
            made = filler(1, now_ms=1, producer_id=1 << 41, epoch=0, sequence=offset)
            assert client.produce(tp, made) == offset
            found = client.fetch(tp, offset, max_bytes=1000, wait=0.1)
            assert found.said.high_watermark == offset + 1
            assert admin.offsets.latest([tp]) == {tp: offset + 1}
            offset += 1
            expires = client._connections[1].expires
            assert expires is not None
            assert expires.left() < LOGIN_LIFE
            logins.add(expires)
        # The control plane's and the data path's connections idle beyond their login.
        old = Deadline(max(login.at for login in logins) + LOGIN_LIFE)
        wait_until(lambda: old.over, "the broker has forgotten all logins")
        assert admin.offsets.latest([tp]) == {tp: offset}
        assert client.fetch(tp, 0, max_bytes=1000).said.high_watermark == offset


@dataclass
class Watched:
    """What became of the channels of some nodes."""

    opened: int = 0
    lost: list[str] = field(default_factory=list)


def watched(nodes: Nodes) -> Watched:
    seen = Watched()
    opened, lost = nodes._on_open, nodes._on_lost

    def on_open(node: int) -> None:
        seen.opened += 1
        opened(node)

    def on_lost(node: int, why: str) -> None:
        seen.lost.append(why)
        lost(node, why)

    nodes._on_open, nodes._on_lost = on_open, on_lost
    return seen


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_copier_outlives_its_logins(
    tmp_path: Path,
    forgetful_source: LocalCluster,
    forgetful_target: LocalCluster,
    new_name: NewName,
    mechanism: str,
) -> None:
    mirror = BackDoor(tmp_path, forgetful_source, forgetful_target, new_name("life"))
    mirror.create()
    source, target = config(forgetful_source, mechanism), config(forgetful_target, mechanism)
    work = replace(endless(mirror.slices()[0]), source=source, target=target)
    with copier(work, source, target) as made:
        feed, [producer] = made.landing.feed, made.landing.producers._all
        assert isinstance(feed, Fetcher)
        fetching, producing = watched(feed.nodes), watched(producer.nodes)
        count = 0

        def write(number: int) -> None:
            nonlocal count
            records = [Record(None, b"%d" % (count + i)) for i in range(number)]
            produce(forgetful_source.back_door, mirror.topic, records)
            count += number
            wait_until(
                lambda: end_offsets(forgetful_target.back_door, mirror.topic)[1] == count,
                "it is copied",
            )

        with going(made):
            while fetching.opened < LIVES or producing.opened < LIVES:
                write(100)
            following = fetching.opened + LIVES
            wait_until(lambda: fetching.opened >= following, "idle logins are renewed")
            write(1)
            [lane] = made.landing.lanes.values()
            assert (lane.progress.error, lane.failures) == ("", 0)
        [done] = made.summaries()
    assert (fetching.lost, producing.lost) == ([], [])
    assert (done.error, done.records) == ("", count)
    values = [record.value for record in consume(forgetful_target.back_door, mirror.topic)]
    assert values == [b"%d" % number for number in range(count)]
