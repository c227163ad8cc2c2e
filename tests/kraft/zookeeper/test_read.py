"""One pass over a real ZooKeeper."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.kraft import ensembles, znodes
from tests.support.kraft.ensembles import Ensemble
from towpath.kraft.errors import ZnodeUnknownError
from towpath.kraft.facts import digests
from towpath.kraft.facts.image import ConfigOf
from towpath.kraft.facts.seen import Oddity, ZooKeeperSeen
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Credential, Mechanism
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.soak
"""A ZooKeeper takes two seconds to start; `scripts/test` plays one whole migration instead."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    with ensembles.ensemble(tmp_path_factory.mktemp("zookeeper")) as made:
        with ensembles.zookeeper(made.config()):
            pass
        ensembles.fill(f"{made.connect}", dict.fromkeys(["/small", "/empty", "/odd"]))
        ensembles.fill(f"{made.connect}/small", znodes.small())
        yield made


def read(running: Ensemble, path: str) -> ZooKeeperSeen:
    with ensembles.zookeeper(running.config(path)) as zookeeper:
        return zookeeper.read(Deadline.after(20))


def test_all_kinds_are_read_below_a_path(running: Ensemble) -> None:
    seen = read(running, "/small")
    image = seen.image
    assert (seen.cluster_id, seen.controller_epoch) == (znodes.CLUSTER_ID, (4, 0))
    assert seen.controller is not None
    assert (seen.controller.id, seen.controller.kraft_epoch) == (1, -1)
    assert seen.migration is not None
    assert (seen.migration.controller, seen.migration.offset) == (3000, 118)
    assert seen.brokers == {1, 2}
    assert seen.awaited == {1, 2, 3, 7}
    assert (seen.deleting, seen.reassigning) == (("going",), ("orders-1",))
    assert [*image.topics] == ["orders"]
    assert image.topics["orders"].id == znodes.TOPIC_ID
    assert image.topics["orders"].partitions[0].leader_epoch == 5
    assert image.topics["orders"].partitions[1].adding == (3,)
    assert image.configs[ConfigOf.TOPIC, "orders"] == {"retention.ms": "86400000"}
    assert image.configs[ConfigOf.BROKER, ""] == {"log.cleaner.threads": "2"}
    assert set(image.configs[ConfigOf.BROKER, "1"].values()) == {digests.ENCODED, "1000"}
    assert len(image.configs) == 3
    assert {str(acl) for acl in image.acls} == {
        "allow User:alice to read on topic orders",
        "deny User:bob from ::1 to describe configs on cluster kafka-cluster",
        "allow User:a:b to write on transactional id *",
        "allow Group:x from h to all on prefixed group team-",
    }
    scram = digests.scram(8192, b"salt", b"stored", b"server")
    assert image.users == {Credential("alice", Mechanism.SHA_256): scram}
    assert image.producer_ids == 4000
    assert image.tokens == {
        "t1": digests.token("User:alice", "User:bob", ["User:carol"], (1, 2, 3))
    }
    assert seen.still


def test_quotas_of_all_entities_are_read(running: Ensemble) -> None:
    quotas = read(running, "/small").image.quotas
    user, client, address = EntityKind.USER, EntityKind.CLIENT_ID, EntityKind.IP
    assert quotas == {
        (Entity(user, "alice"),): {"producer_byte_rate": 1048576.0},
        (Entity(user, "alice"), Entity(client, "app 1")): {"request_percentage": 12.5},
        (Entity(user, None),): {"consumer_byte_rate": 1e6},
        (Entity(user, None), Entity(client, None)): {"consumer_byte_rate": 7.0},
        (Entity(user, "café@/*"), Entity(client, None)): {"producer_byte_rate": 5.0},
        (Entity(client, ":/"),): {"controller_mutation_rate": 0.5},
        (Entity(address, "10.0.0.1"),): {"connection_creation_rate": 9.0},
        (Entity(address, None),): {"connection_creation_rate": 10.0},
    }


def test_configs_without_a_topic_are_named(running: Ensemble) -> None:
    (odd,) = read(running, "/small").odd
    assert (odd.path, odd.oddity) == ("/config/topics/gone", Oddity.ORPHAN_CONFIG)
    assert "retention.ms" in odd.why


def test_a_path_without_a_cluster_says_so(running: Ensemble) -> None:
    with pytest.raises(ZnodeUnknownError, match=r"/empty/cluster/id.*`zookeeper.connect`"):
        read(running, "/empty")
    with pytest.raises(ZnodeUnknownError, match=r"/nowhere/cluster/id"):
        read(running, "/nowhere")


def test_odd_znodes_are_named_and_the_rest_is_read(running: Ensemble) -> None:
    odd = {
        "/brokers/topics/broken": b"{",
        "/brokers/topics/old": b'{"version":1,"partitions":{"0":[2,1]}}',
        "/config/users/100%": znodes.config(producer_byte_rate="1"),
        "/config/clients/fast": znodes.config(producer_byte_rate="very"),
        "/config/brokers/one": znodes.config(x="y"),
        "/kafka-acl/Planet/mars": znodes.acls(("User:a", "Allow", "Read", "*")),
        "/kafka-acl-extended/suffixed/Topic/x": znodes.acls(("User:a", "Allow", "Read", "*")),
        "/delegation_token/tokens/t2": b"{}",
        "/latest_producer_id_block": None,
        "/migration": None,
    }
    ensembles.fill(f"{running.connect}/odd", {**znodes.small(), **odd})
    seen = read(running, "/odd")
    told = {each.path: each.oddity for each in seen.odd}
    unknown = set(odd) - {"/brokers/topics/old", "/latest_producer_id_block", "/migration"}
    parents = {"/kafka-acl/Planet/mars": "/kafka-acl/Planet"}
    parents["/kafka-acl-extended/suffixed/Topic/x"] = "/kafka-acl-extended/suffixed"
    assert told == {
        **{parents.get(path, path): Oddity.UNKNOWN_FORM for path in unknown},
        "/brokers/topics/old": Oddity.NO_TOPIC_ID,
        "/brokers/topics/old/partitions/0/state": Oddity.NO_STATE,
        "/config/topics/gone": Oddity.ORPHAN_CONFIG,
    }
    assert seen.migration is not None
    assert seen.migration.is_null
    assert seen.image.producer_ids is None
    assert [*seen.image.topics] == ["old", "orders"]
    begun = seen.image.topics["old"].partitions[0]
    assert (begun.isr, begun.leader, begun.leader_epoch) == ((2, 1), 2, 0)


def test_a_large_cluster_is_read_in_a_moment(running: Ensemble) -> None:
    """As large as the one of which the first reader of this kind took 0.6 to 0.8 s."""
    ensembles.fill(running.connect, {"/large": None})
    ensembles.fill(f"{running.connect}/large", znodes.many(513, 1540))
    with ensembles.zookeeper(running.config("/large")) as zookeeper:
        seen = zookeeper.read(Deadline.after(20))
        took = []
        for _ in range(5):
            began = time.monotonic(), time.process_time()
            zookeeper.read(Deadline.after(20))
            took.append((time.monotonic() - began[0], time.process_time() - began[1]))
    assert len(seen.image.topics) == 513
    assert sum(len(topic.partitions) for topic in seen.image.topics.values()) == 1539
    assert min(cpu for _, cpu in took) < 0.6, took


@pytest.mark.parametrize("path", ["/controller", "/controller_epoch", "/cluster/id"])
def test_a_znode_that_decides_must_be_of_a_known_form(running: Ensemble, path: str) -> None:
    root = f"/decides-{path.replace('/', '')}"
    ensembles.fill(running.connect, {root: None})
    ensembles.fill(running.connect + root, {**znodes.small(), path: b"?"})
    with pytest.raises(ZnodeUnknownError, match=f"reading {path}"):
        read(running, root)
