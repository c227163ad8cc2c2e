"""Plan, apply and diff where the target has three brokers, which hear of changes one by one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka.protocol.admin import DescribeAclsRequest

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, grow, produce, wait_until
from tests.support.subjects.access_sides import clear
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import non_default
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.run.reconcile import reconcile
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig, load

# Plans of ACLs and quotas are about all that the source has.
pytestmark = [pytest.mark.broker, pytest.mark.alone("secured_source")]
NewName = Callable[[str], str]


class Three:
    """A link onto three brokers, over the topics that begin with its name, and its user."""

    def __init__(self, folder: Path, source: LocalCluster, target: LocalCluster, name: str) -> None:
        self.folder, self.addresses, self.name = folder, (source.bootstrap, target.bootstrap), name
        self.source, self.target = (
            Admin(ClusterConfig(bootstrap=cluster.addresses), side)
            for cluster, side in ((source, Side.SOURCE), (target, Side.TARGET))
        )
        (folder / "password").write_text("secret-of-ann")

    def file(self, replicas: str = "3", more: str = "") -> str:
        """Write the link's file."""
        source, target = self.addresses
        file = self.folder / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{source}'}}\ntarget: {{bootstrap: '{target}'}}\n"
            f"link: {self.name}\n"
            f"topics: {{include: ['{self.name}[.].*'], rename: 'eu.{{topic}}',"
            f" replication_factor: {replicas}}}\n{more}"
        )
        return str(file)

    def access(self, mode: str, users: str = "{}", more: str = "") -> str:
        """Write a file that asks for ACLs and quotas, too."""
        access = f"access: {{acls: {mode}, quotas: true, users: {users}}}\n"
        return self.file(more=access + more)

    def topic(self, end: str, partitions: int, **configs: str) -> str:
        name = f"{self.name}.{end}"
        configs = {key.replace("_", "."): value for key, value in configs.items()}
        return create_topic(self.addresses[0], name, partitions, configs)

    def acl(self, operation: Operation, name: str = "", **others: Any) -> Acl:
        given = {
            "resource": Resource.TOPIC, "name": name or f"{self.name}.wide",
            "pattern": Pattern.LITERAL, "principal": f"User:{self.name}", "host": EVERY,
            "operation": operation, "permission": Permission.ALLOW, **others,
        }  # fmt: skip
        return Acl(**given)

    def own(self, topic: str) -> dict[str, str]:
        return non_default(self.target.configs.describe([TopicName(topic)])[TopicName(topic)])

    def replicas(self, topic: str) -> list[tuple[int, ...]]:
        """Return the brokers that have each partition of a copy, its leader first."""
        found = AdminClient({"bootstrap.servers": self.addresses[1]}).list_topics(topic, 30)
        parts = found.topics[topic].partitions
        return [
            (parts[at].leader, *(node for node in parts[at].replicas if node != parts[at].leader))
            for at in sorted(parts)
        ]

    def acls(self) -> list[set[Acl]]:
        """Return what each broker of the target knows of ACLs of the link's user."""
        listing = self.target.acls.describe()
        assert listing is not None
        return [
            {acl for acl in listing.known if self.name in acl.principal},
            *(self._told_by(broker) for broker in self.target.cluster.brokers()),
        ]

    def _told_by(self, broker: Any) -> set[Acl]:
        from towpath.cluster.admin.acls import _read

        request = DescribeAclsRequest(
            resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
            principal_filter=f"User:{self.name}", host_filter=None, operation=1, permission_type=1,
        )  # fmt: skip
        answer = self.target._control.ask(broker, request, Deadline.after(10), "asking")
        return set(_read(answer).known)


@pytest.fixture
def sides(
    tmp_path: Path, secured_source: SharedCluster, three: SharedCluster, new_name: NewName
) -> Iterator[Three]:
    made = Three(tmp_path, secured_source.through("CLIENT"), three, new_name("three") + "-x")
    with made.source, made.target:
        yield made
        for admin in (made.source, made.target):
            clear(admin, made.name)


def test_everything_goes_over_to_three_brokers(sides: Three, here: Here, tmp_path: Path) -> None:
    wide = sides.topic("wide", 6, min_insync_replicas="2", segment_ms="600000")
    lean = sides.topic("lean", 3)
    user, quota = Credential(sides.name, Mechanism.SHA_512), _quota(sides.name)
    acls = {
        sides.acl(Operation.READ),
        sides.acl(Operation.WRITE, f"{sides.name}.", pattern=Pattern.PREFIXED),
        sides.acl(Operation.DESCRIBE, EVERY, permission=Permission.DENY, host="10.0.0.1"),
        sides.acl(Operation.READ, "readers", resource=Resource.GROUP, pattern=Pattern.PREFIXED),
    }
    assert not sides.source.acls.create(acls).failed
    sides.source.users.set_credential(user, 8192, Secret("at the source"))
    sides.source.quotas.change(quota, 1e6)
    file, saved = (
        sides.access("full", f"{{'{sides.name}': 'file:password'}}"),
        str(tmp_path / "plan.json"),
    )
    wanted = 2 + len(acls) + 2
    wait_until(
        lambda: len(_planned(sides, here, file)) == wanted, "all brokers of the source know all"
    )
    assert here("plan", file, "--save", saved).code == 0
    applied = here("apply", saved, "--yes", "--output", "json")
    done = _mine(sides, applied.json["done"])
    assert (applied.code, len(done)) == (0, wanted), applied.said
    # Brokers hear of users, quotas and ACLs one after the other; whoever is asked knows them.
    assert here("diff", file).code == 0
    copies = {f"eu.{name}" for name in (wide, lean)}
    assert all(len({*nodes}) == 3 for copy in copies for nodes in sides.replicas(copy))
    assert Counter(nodes[0] for nodes in sides.replicas(f"eu.{wide}")) == {1: 2, 2: 2, 3: 2}
    assert {nodes[0] for nodes in sides.replicas(f"eu.{lean}")} == {1, 2, 3}
    assert sides.own(f"eu.{wide}") == {"min.insync.replicas": "2", "segment.ms": "600000"}
    renamed = {
        sides.acl(Operation.READ, f"eu.{wide}"),
        sides.acl(Operation.WRITE, f"eu.{sides.name}.", pattern=Pattern.PREFIXED),
        sides.acl(
            Operation.DESCRIBE, "eu.", permission=Permission.DENY, host="10.0.0.1",
            pattern=Pattern.PREFIXED,
        ),
        sides.acl(Operation.READ, "readers", resource=Resource.GROUP, pattern=Pattern.PREFIXED),
    }  # fmt: skip
    assert sides.acls() == [renamed] * 4
    assert sides.target.users.describe([sides.name]) == {user: 8192}
    assert sides.target.quotas.describe().known[quota] == 1e6
    for copy in copies:  # as many replicas are in sync as the copy asks for
        produce(sides.addresses[1], copy, [Record(b"k", b"v")], {"acks": "all"})
        assert len(consume(sides.addresses[1], copy)) == 1


def _quota(name: str) -> Quota:
    return Quota((Entity(EntityKind.USER, name),), QuotaKey.CONSUMER_BYTE_RATE)


def _mine(sides: Three, steps: list[Any]) -> list[Any]:
    """Return the steps about this test's topics and user: others use the source, too."""
    return [step for step in steps if sides.name in json.dumps(step)]


def _planned(sides: Three, here: Here, file: str) -> list[Any]:
    return _mine(sides, here("plan", file, "--output", "json").json["steps"])


@pytest.mark.parametrize(
    ("asked", "planned", "given", "in_sync", "said"),
    [
        ("2", 2, 2, "2", "min.insync.replicas 2 instead of 3: it must not be above the"),
        ("5", 3, 3, "3", "replication factor 3 instead of 5, which `topics.replication_factor`"),
        ("broker_default", -1, 3, "3", ""),
    ],
)
def test_replication_factors_follow_what_is_asked_and_how_many_brokers_there_are(
    sides: Three, here: Here, asked: str, planned: int, given: int, in_sync: str, said: str
) -> None:
    strict = sides.topic("strict", 2, min_insync_replicas="3")
    file = sides.file(asked)
    plan = here("plan", file, "--output", "json").json
    assert [step["replication_factor"] for step in plan["steps"]] == [planned]
    # That the brokers of both sides differ is told, too, and the groups of other tests.
    notes = [
        note["text"]
        for note in plan["notes"]
        if not note["text"].startswith("config of all brokers")
        and note["about"] != "groups.configs"
    ]
    assert [note.startswith(said) for note in notes] == [True] * bool(said)
    assert here("apply", file, "--yes").code == 0
    assert here("diff", file).code == 0
    assert [len(nodes) for nodes in sides.replicas(f"eu.{strict}")] == [given] * 2
    configs = sides.target.configs.describe([TopicName(f"eu.{strict}")])[TopicName(f"eu.{strict}")]
    assert configs["min.insync.replicas"].value == in_sync
    produce(sides.addresses[1], f"eu.{strict}", [Record(b"k", b"v")], {"acks": "all"})


def test_what_changes_while_a_run_goes_on_is_followed(sides: Three) -> None:
    """In one process: nothing is remembered so well that it is never looked at again."""
    wide, bad = sides.topic("wide", 2, segment_ms="600000"), sides.topic("bad.one", 1)
    create_topic(sides.addresses[1], f"eu.{sides.name}.bad_one")
    reading, writing = sides.acl(Operation.READ), sides.acl(Operation.WRITE)
    assert not sides.source.acls.create([reading]).failed
    config = load(Path(sides.access("full", more="prune: true\n")))
    with open_link(config) as link:
        link.prepare()
        first = reconcile(link)
        assert list(first.outcome.failed) == [bad]
        copies = [
            sides.acl(operation, f"eu.{wide}") for operation in (Operation.READ, Operation.WRITE)
        ]
        wait_until(lambda: sides.acls() == [{copies[0]}] * 4, "the ACL is there")

        empty = sides.topic("empty", 1)
        grow(sides.addresses[0], wide, 3)
        sides.source.configs.change(TopicName(wide), {"segment.ms": "700000"})
        assert not sides.source.acls.create([writing]).failed
        assert not sides.source.acls.delete([reading]).failed
        sides.source.quotas.change(_quota(sides.name), 5.0)

        def is_followed() -> bool:
            assert list(reconcile(link).outcome.failed) == [bad]
            return (
                sides.acls() == [{copies[1]}] * 4
                and sides.target.quotas.describe().known.get(_quota(sides.name)) == 5.0
            )

        wait_until(is_followed, "what was added and removed is followed")
    assert sides.own(f"eu.{wide}")["segment.ms"] == "700000"
    assert [len(sides.replicas(f"eu.{name}")) for name in (wide, empty)] == [3, 1]


def test_one_cluster_without_an_authorizer_keeps_no_topic_waiting(
    sides: Three, source: LocalCluster, target: LocalCluster, here: Here
) -> None:
    holds = sides.addresses
    for side, addresses in (
        ("target", (holds[0], target.bootstrap)),
        ("source", (source.bootstrap, holds[1])),
    ):
        sides.addresses = addresses
        name = sides.topic(side, 1)
        plan = here("plan", sides.access("safe"), "--output", "json")
        topics = [step["source"] for step in plan.json["steps"] if step["subject"] == "topics"]
        assert topics == [name], plan.said
        [said] = [n["text"] for n in plan.json["notes"] if n["about"] == "access.acls"]
        assert (
            said == f"{side}: the cluster has no authorizer, so it keeps no ACLs; none are copied"
        )


@pytest.mark.soak
def test_a_broker_that_is_down_costs_no_replicas(
    sides: Three, three: SharedCluster, here: Here
) -> None:
    wide = sides.topic("down", 2)
    file = sides.file()
    three.stop_broker(2)
    try:
        wait_until(
            lambda: len(sides.target.cluster.brokers()) == 2, "the broker is known to be down"
        )
        plan = here("plan", file, "--output", "json").json
        applied = here("apply", file, "--yes")
    finally:
        three.restart(2)
    assert [step["replication_factor"] for step in plan["steps"]] == [3], plan["notes"]
    assert applied.code == 0, applied.said
    assert [sorted(nodes) for nodes in sides.replicas(f"eu.{wide}")] == [[1, 2, 3]] * 2


def test_a_saved_plan_grants_nothing_that_was_revoked_since(
    sides: Three, here: Here, tmp_path: Path
) -> None:
    sides.topic("wide", 1)
    kept, revoked = sides.acl(Operation.READ), sides.acl(Operation.DESCRIBE)
    assert not sides.source.acls.create([kept, revoked]).failed
    file, saved = sides.access("full"), str(tmp_path / "plan.json")
    assert here("plan", file, "--save", saved).code == 0
    assert not sides.source.acls.delete([revoked]).failed
    applied = here("apply", saved, "--yes", "--output", "json")
    assert applied.code == 3, applied.said
    assert "it should have something that asks for" in applied.said
    assert sides.acls() == [{sides.acl(Operation.READ, f"eu.{sides.name}.wide")}] * 4
