"""All that a plan is about, between secured clusters, one of which may have an older Kafka."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.subjects.access_sides import clear
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.broker, pytest.mark.alone]
PASSWORD = Secret("ann-on-the-target")
CHANGING = (
    Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS,
)  # fmt: skip


@dataclass
class Between:
    """A link that logs in as `admin`, over one topic, and a user who may do something with it."""

    folder: Path
    clusters: tuple[LocalCluster, LocalCluster]
    vault: Vault
    topic: str

    def __post_init__(self) -> None:
        self.source, self.target = (
            Admin(ClusterConfig.model_validate({"bootstrap": cluster.back_door}), side)
            for cluster, side in zip(self.clusters, Side, strict=True)
        )

    def file(self, acls: str, more: str = "") -> str:
        """Write the link's file."""
        secrets = {"admin": USERS["admin"], "ann": PASSWORD}
        for name, secret in secrets.items():
            (self.folder / name).write_text(secret.reveal())
        sides = "".join(self._side(*each) for each in zip(Side, self.clusters, strict=True))
        file = self.folder / "link.yaml"
        file.write_text(
            f"{sides}link: {self.topic}\n"
            f"topics: {{include: ['{self.topic}'], rename: 'eu.{{topic}}'}}\n"
            f"access: {{acls: {acls}, quotas: true, users: {{'{self.topic}': 'file:ann'}}}}\n{more}"
        )
        return str(file)

    def _side(self, side: Side, cluster: LocalCluster) -> str:
        return (
            f"{side}:\n  bootstrap: '{cluster.bootstrap}'\n"
            f"  tls: {{ca: '{self.vault.ca}'}}\n"
            "  sasl: {mechanism: SCRAM-SHA-256, username: admin, password: 'file:admin'}\n"
        )

    def acl(self, operation: Operation, **others: Any) -> Acl:
        given = {
            "resource": Resource.TOPIC, "name": self.topic, "pattern": Pattern.LITERAL,
            "principal": f"User:{self.topic}", "host": EVERY, "operation": operation,
            "permission": Permission.ALLOW, **others,
        }  # fmt: skip
        return Acl(**given)

    def copied(self) -> set[Acl]:
        """Return what the target has of ACLs of the user."""
        listing = self.target.acls.describe()
        assert listing is not None
        return {acl for acl in listing.known if self.topic in acl.principal}

    def as_user(self, mechanism: str) -> dict[str, Any]:
        """Return how the user comes in on the target."""
        return {
            "security.protocol": "SASL_SSL", "sasl.mechanism": mechanism,
            "ssl.ca.location": str(self.vault.ca),
            "sasl.username": self.topic, "sasl.password": PASSWORD.reveal(),
        }  # fmt: skip

    def writes(self) -> None:
        """Write to the mirror topic as the user."""
        where, copy = self.clusters[1].bootstrap, f"eu.{self.topic}"
        produce(where, copy, [Record(b"k", b"v")], self.as_user("SCRAM-SHA-512"))


@pytest.fixture
def between(
    tmp_path: Path,
    secured_pair: tuple[LocalCluster, LocalCluster],
    vault: Vault,
    new_name: Callable[[str], str],
) -> Iterator[Between]:
    made = Between(tmp_path, secured_pair, vault, new_name("between") + "-x")
    with made.source, made.target:
        yield made
        for admin in (made.source, made.target):
            clear(admin, made.topic)


def rules(between: Between) -> list[tuple[Acl, Acl | None, Acl]]:
    """Return ACLs of the source, each with what is left of it before the cutover, and then."""
    acl, copy = between.acl, f"eu.{between.topic}"
    prefixed: Any = {"pattern": Pattern.PREFIXED}
    denied: Any = {"host": "10.0.0.1", "permission": Permission.DENY}
    group: Any = {"resource": Resource.GROUP, "name": "test", **prefixed}
    token: Any = {"resource": Resource.DELEGATION_TOKEN, "name": "any"}
    cluster: Any = {"resource": Resource.CLUSTER, "name": "kafka-cluster"}
    writing: Any = {"resource": Resource.TRANSACTIONAL_ID, "name": "orders", **prefixed}
    found: list[tuple[Acl, Acl | None, Acl]] = [
        (acl(Operation.ALL), acl(Operation.READ, name=copy), acl(Operation.ALL, name=copy)),
        (acl(Operation.ALL, **group), acl(Operation.READ, **group), acl(Operation.ALL, **group)),
    ]
    for operation, there, on_copy in (
        (Operation.DESCRIBE, {}, {"name": copy}),
        (Operation.WRITE, denied, {"name": copy, **denied}),
        (Operation.DESCRIBE_CONFIGS, prefixed, {"name": copy, **prefixed}),
        (Operation.DESCRIBE, {"name": EVERY}, {"name": "eu.", **prefixed}),
        (Operation.DESCRIBE, cluster, cluster),
        (Operation.DESCRIBE, token, token),
        (Operation.DESCRIBE, writing, writing),
    ):
        kept = acl(operation, **on_copy)
        found.append((acl(operation, **there), kept, kept))
    found += [(acl(each), None, acl(each, name=copy)) for each in CHANGING]
    for kept in (acl(Operation.ALTER, **cluster), acl(Operation.WRITE, **writing)):
        found.append((kept, None, kept))
    return found


def quotas(user: str) -> dict[Quota, float]:
    named, any_client = Entity(EntityKind.USER, user), Entity(EntityKind.CLIENT_ID, None)
    return {
        Quota((named,), QuotaKey.PRODUCER_BYTE_RATE): 1048576.0,
        Quota((named, any_client), QuotaKey.REQUEST_PERCENTAGE): 12.5,
        Quota((Entity(EntityKind.CLIENT_ID, user),), QuotaKey.CONTROLLER_MUTATION_RATE): 2.0,
    }


def mine(between: Between, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps about this test's user and topic: others may use these clusters, too."""
    return [step for step in steps if between.topic in json.dumps(step)]


def planned(between: Between, here: Here, file: str) -> list[dict[str, Any]]:
    return mine(between, here("plan", file, "--output", "json").json["steps"])


def applied(between: Between, here: Here, what: str) -> list[dict[str, Any]]:
    """Do everything; wait until nothing is left."""
    ended = here("apply", what, "--yes", "--output", "json")
    assert ended.code == 0, ended.said
    return mine(between, ended.json["done"])


def test_from_the_first_plan_to_full_rights(between: Between, here: Here) -> None:
    create_topic(between.clusters[0].back_door, between.topic, 1, {"segment.ms": "600000"})
    at_source = rules(between)
    safe = {acl for _, acl, _ in at_source if acl is not None}
    users = {Credential(between.topic, mechanism): 4096 for mechanism in Mechanism}
    limits = quotas(between.topic)
    assert not between.source.acls.create(acl for acl, *_ in at_source).failed
    for user, iterations in users.items():
        between.source.users.set_credential(user, iterations, Secret("ann-at-the-source"))
    for quota, value in limits.items():
        between.source.quotas.change(quota, value)

    file, saved = between.file("safe"), str(between.folder / "plan.json")
    count = 1 + len(safe) + len(users) + len(limits)
    wait_until(lambda: len(planned(between, here, file)) == count, "the source tells everything")
    told = here("plan", file, "--save", saved, "--output", "json")
    notes = {note["about"]: note["text"] for note in told.json["notes"]}
    for acl, kept, _ in at_source:
        assert ("`access.acls: full`" in notes.get(str(acl), "")) is (
            kept is None or kept.operation is not acl.operation
        )
    assert len(applied(between, here, saved)) == count
    wait_until(lambda: here("diff", file).code == 0, "nothing is left")
    assert between.copied() == safe
    assert between.target.users.describe([between.topic]) == users
    assert between.target.quotas.describe().known.items() >= limits.items()
    with pytest.raises(AssertionError, match="Topic authorization failed"):
        between.writes()
    where, copy = between.clusters[1].bootstrap, f"eu.{between.topic}"
    for mechanism in Mechanism:
        assert consume(where, copy, config=between.as_user(mechanism)) == []

    file = between.file("full", "prune: true\n")
    full = {acl for *_, acl in at_source}
    done = applied(between, here, file)
    assert Counter(step["do"] for step in done) == {
        "CreateAcl": len(full - safe), "DeleteAcl": len(safe - full),
    }  # fmt: skip
    wait_until(lambda: here("diff", file).code == 0, "nothing is left")
    assert between.copied() == full
    between.writes()

    gone, quota = between.acl(Operation.DELETE), next(iter(limits))
    assert not between.source.acls.delete([gone]).failed
    between.source.quotas.change(quota, None)
    between.source.topics.grow(TopicName(between.topic), 2)
    between.source.configs.change(TopicName(between.topic), {"segment.ms": "700000"})
    wait_until(lambda: len(planned(between, here, file)) == 4, "the source tells what changed")
    assert sorted(step["do"] for step in applied(between, here, file)) == [
        "AddPartitions", "DeleteAcl", "RemoveQuota", "SetConfigs",
    ]  # fmt: skip
    wait_until(lambda: here("diff", file).code == 0, "nothing is left")
    assert between.copied() == full - {between.acl(Operation.DELETE, name=copy)}
    assert quota not in between.target.quotas.describe().known
