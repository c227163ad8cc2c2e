"""Writes to a real ZooKeeper: done once under the versions that were seen, or not at all."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from tests.support.kraft import ensembles, znodes
from tests.support.kraft.ensembles import Ensemble
from towpath.kraft.errors import (
    ZnodeChangedError,
    ZooKeeperAwayError,
    ZooKeeperHeldError,
    ZooKeeperLockLostError,
)
from towpath.kraft.facts.image import PartitionImage
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.kraft.zookeeper.write import ReleasedZnodes
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.soak
_NUMBERS = itertools.count()

KRAFT = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'
STATES = tuple(f"/brokers/topics/orders/partitions/{index}/state" for index in range(2))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    with ensembles.ensemble(tmp_path_factory.mktemp("zookeeper")) as made:
        with ensembles.zookeeper(made.config()):
            pass
        yield made


@pytest.fixture
def path(running: Ensemble) -> str:
    """Return the path of a new cluster, whose controller is one of KRaft."""
    made = f"/cluster-{next(_NUMBERS)}"
    ensembles.fill(running.connect, {made: None})
    ensembles.fill(running.connect + made, {**znodes.small(), "/controller": KRAFT})
    return made


@pytest.fixture
def zookeeper(running: Ensemble, path: str) -> Iterator[ZooKeeper]:
    with ensembles.zookeeper(running.config(path)) as made:
        yield made


@pytest.fixture
def client(running: Ensemble, path: str) -> Iterator[KazooClient]:
    made = KazooClient(running.connect + path)
    made.start(30)
    yield made
    made.stop()
    made.close()


def soon() -> Deadline:
    return Deadline.after(20)


def test_the_epoch_is_raised_under_its_version(zookeeper: ZooKeeper, client: KazooClient) -> None:
    assert zookeeper.raise_epoch(9, 0, soon()) == 1
    assert client.get("/controller_epoch")[0] == b"9"
    assert zookeeper.raise_epoch(9, 0, soon()) == 1, "an answer may have been lost"
    with pytest.raises(ZnodeChangedError, match="has version 1, and had 0"):
        zookeeper.raise_epoch(10, 0, soon())
    with pytest.raises(ZnodeChangedError, match="it is 9 already, and is never lowered"):
        zookeeper.raise_epoch(3, 1, soon())
    assert client.get("/controller_epoch")[0] == b"9"


def test_versions_of_states_are_raised_and_nothing_else_changes(
    zookeeper: ZooKeeper, client: KazooClient
) -> None:
    wanted = {TopicPartition(TopicName("orders"), index): 250 * (index + 1) for index in range(2)}
    gone = {TopicPartition(TopicName("gone"), 0): 7}
    before = [client.get(path)[0] for path in STATES]
    assert zookeeper.raise_versions(wanted | gone, soon()) == 750
    found = [client.get(path) for path in STATES]
    assert [data for data, _ in found] == before
    assert [stat.version for _, stat in found] == [250, 500]
    assert zookeeper.raise_versions(wanted, soon()) == 0
    lower = dict.fromkeys(wanted, 3)
    assert zookeeper.raise_versions(lower, soon()) == 0, "they are never lowered"


def test_missing_states_are_made_with_the_access_of_their_topic_and_others_stay(
    zookeeper: ZooKeeper, client: KazooClient
) -> None:
    topic, before = "/brokers/topics/orders", client.get(STATES[0])
    client.set_acls(topic, [make_digest_acl("kafka", "secret", all=True), OPEN_ACL_UNSAFE[0]])
    client.delete("/brokers/topics/orders/partitions/1", recursive=True)
    state = PartitionImage(replicas=(1, 2), isr=(2, 1), leader=2, leader_epoch=7, partition_epoch=9)
    named = [("orders", 0), ("orders", 1), ("orders", 5), ("gone", 0)]
    wanted = {TopicPartition(TopicName(name), index): state for name, index in named}
    assert zookeeper.make_states(wanted, 5, soon()) == 2
    assert client.get(STATES[0]) == before
    made, told = client.get(STATES[1])
    assert json.loads(made) == {
        "version": 1, "leader": 2, "leader_epoch": 7, "controller_epoch": 5, "isr": [2, 1],
    }  # fmt: skip
    assert told.version == 0
    assert client.get_acls(STATES[1])[0] == client.get_acls(topic)[0]
    assert client.exists("/brokers/topics/orders/partitions/5/state")
    assert not client.exists("/brokers/topics/gone")
    assert zookeeper.make_states(wanted, 5, soon()) == 0, "they are there"


def test_states_that_a_controller_writes_meanwhile_are_read_again(
    zookeeper: ZooKeeper, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from towpath.kraft.zookeeper import versions

    look, told = versions._due, itertools.count()

    def write(*arguments: object) -> list[Any]:
        found = list(look(*arguments))  # type: ignore[arg-type]
        if next(told) == 0:
            client.set(STATES[0], b"of a controller")
        return found

    monkeypatch.setattr(versions, "_due", write)
    assert zookeeper.raise_versions({TopicPartition(TopicName("orders"), 0): 3}, soon()) == 2
    data, stat = client.get(STATES[0])
    assert (data, stat.version) == (b"of a controller", 3)


def test_versions_stay_where_a_broker_is_controller_or_becomes_it(
    zookeeper: ZooKeeper, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from towpath.kraft.zookeeper import versions

    wanted, look = {TopicPartition(TopicName("orders"), 0): 3}, versions._due

    def elect(*arguments: object) -> object:
        client.set("/controller_epoch", b"10")
        return look(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(versions, "_due", elect)
        with pytest.raises(ZnodeChangedError, match="a controller was elected in this moment"):
            zookeeper.raise_versions(wanted, soon())
    client.delete("/controller")
    client.create("/controller", znodes.small()["/controller"], ephemeral=True)
    with pytest.raises(ZnodeChangedError, match="does not belong to a controller of KRaft"):
        zookeeper.raise_versions(wanted, soon())
    assert client.get(STATES[0])[1].version == 0


def test_both_znodes_are_deleted_and_what_they_held_is_told(
    zookeeper: ZooKeeper, client: KazooClient
) -> None:
    told: list[ReleasedZnodes] = []

    def there(znodes: ReleasedZnodes) -> None:
        assert client.exists("/controller"), "it is told before anything is deleted"
        told.append(znodes)

    done = zookeeper.release(0, 0, soon(), there)
    assert told == [done]
    assert (done.controller or "").encode() == KRAFT
    assert (done.migration or "").encode() == znodes.small()["/migration"]
    assert client.exists("/controller") is client.exists("/migration") is None
    again = zookeeper.release(0, 0, soon())
    assert (again.controller, again.migration) == (None, None)


def test_nothing_is_deleted_where_one_of_both_was_changed(
    zookeeper: ZooKeeper, client: KazooClient
) -> None:
    client.set("/migration", b"{}")
    with pytest.raises(ZnodeChangedError, match="/migration has version 1, and had 0"):
        zookeeper.release(0, 0, soon())
    assert client.exists("/controller")
    assert client.exists("/migration")


def test_a_transaction_fails_as_a_whole(
    zookeeper: ZooKeeper, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that is elected between the reading and the deleting raises the epoch."""
    from towpath.kraft.zookeeper import write

    checked = write._check_migration

    def elect(*arguments: object) -> None:
        client.set("/controller_epoch", b"10")
        checked(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(write, "_check_migration", elect)
    with pytest.raises(ZnodeChangedError, match=r"a controller was elected.*nothing was written"):
        zookeeper.release(0, 0, soon())
    assert client.exists("/controller")
    assert client.exists("/migration")


def test_a_broker_keeps_its_controller(zookeeper: ZooKeeper, client: KazooClient) -> None:
    client.delete("/controller")
    client.create("/controller", znodes.small()["/controller"], ephemeral=True)
    with pytest.raises(ZnodeChangedError, match="/controller belongs to a broker"):
        zookeeper.release(0, 0, soon())
    done = zookeeper.release(None, 0, soon())
    assert done.controller is None
    assert done.migration
    assert client.exists("/controller")
    assert not client.exists("/migration")


def test_a_controller_of_kraft_is_not_left_alone(zookeeper: ZooKeeper) -> None:
    with pytest.raises(ZnodeChangedError, match="must go together"):
        zookeeper.release(None, 0, soon())


def test_a_migration_that_was_not_seen_is_not_left(zookeeper: ZooKeeper) -> None:
    with pytest.raises(ZnodeChangedError, match="there is a /migration"):
        zookeeper.release(0, None, soon())


def test_one_at_a_time_and_the_other_is_told_who(
    running: Ensemble, path: str, zookeeper: ZooKeeper
) -> None:
    lock = zookeeper.lock("kraft run, ann@host, process 7", soon())
    lock.require(soon())
    told: list[ZooKeeperHeldError] = []
    with ensembles.zookeeper(running.config(path)) as other:
        with pytest.raises(ZooKeeperHeldError, match="ann@host, process 7 works on this cluster"):
            other.lock("second", Deadline.after(0.5), told.append)
        assert len(told) == 1
        threading.Timer(0.5, lock.release, [soon()]).start()
        other.lock("second", soon(), told.append).require(soon())
        assert len(told) == 2
        with pytest.raises(ZooKeeperLockLostError, match="towpath_kraft_lock"):
            lock.require(soon())
        lock.release(soon())  # the other's lock stays
        with pytest.raises(ZooKeeperHeldError, match="second"):
            zookeeper.lock("third", Deadline.after(0.3))


def test_a_lock_ends_with_its_session(running: Ensemble, path: str, zookeeper: ZooKeeper) -> None:
    with ensembles.zookeeper(running.config(path)) as other:
        other.lock("first", soon())
    zookeeper.lock("second", soon()).require(soon())


def test_a_lost_session_is_told_and_reading_goes_on(
    running: Ensemble, zookeeper: ZooKeeper
) -> None:
    """The server is frozen for longer than the session lasts."""
    lock = zookeeper.lock("first", soon())
    seen = zookeeper.read(soon())
    running.send(0, signal.SIGSTOP)
    try:
        deadline = Deadline.after(1)
        with pytest.raises(ZooKeeperAwayError, match="no answer in time"):
            zookeeper.read(deadline)
        assert deadline.over
        with pytest.raises(ZooKeeperAwayError):
            zookeeper.release(0, 0, Deadline.after(5))
    finally:
        running.send(0, signal.SIGCONT)
    again = zookeeper.read(soon())
    assert again.image == seen.image
    assert again.controller == seen.controller or again.controller is None
    try:
        lock.require(soon())
    except ZooKeeperLockLostError:
        zookeeper.lock("first again", soon()).require(soon())
