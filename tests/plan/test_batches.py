"""Which steps are done together, and which wait for others, without any cluster."""

from __future__ import annotations

from towpath.access import steps as access
from towpath.access.steps import CreateAcl, DeleteAcl, SetQuota, SetUser
from towpath.access.subject import ACCESS
from towpath.mirror.subjects import SUBJECTS
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import TowpathError
from towpath.model.nouns import TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.plan.kinds import Step, batches
from towpath.topics.steps import CreateTopic

ALLOW, DENY = Permission.ALLOW, Permission.DENY


def acl(name: str, permission: Permission, who: str = "ann") -> Acl:
    return Acl(
        resource=Resource.TOPIC,
        name=name,
        pattern=Pattern.LITERAL,
        principal=f"User:{who}",
        host=EVERY,
        operation=Operation.READ,
        permission=permission,
    )


def create(number: int, partitions: int = 1) -> CreateTopic:
    name = TopicName(f"t{number}")
    return CreateTopic(
        source=name, target=name, partitions=partitions, replication_factor=1, configs={}
    )


def test_steps_of_a_kind_are_done_together() -> None:
    quotas = [
        SetQuota(Quota((Entity(EntityKind.USER, f"u{n}"),), QuotaKey.CONSUMER_BYTE_RATE), 1.0, None)
        for n in range(3)
    ]
    users = [SetUser(Credential(f"u{n}", Mechanism.SHA_256), 4096, None) for n in range(2)]
    steps: list[Step] = [
        *(CreateAcl(acl(f"d{n}", DENY), "") for n in range(2)),
        *(create(n) for n in range(201)),
        *users,
        *quotas,
        *(CreateAcl(acl(f"a{n}", ALLOW), "") for n in range(2)),
        DeleteAcl(acl("x", ALLOW)),
        DeleteAcl(acl("x", DENY)),
    ]
    found = list(batches(steps, SUBJECTS.kinds))
    assert [step for batch in found for step in batch] == steps
    assert [len(batch) for batch in found] == [2, 100, 100, 1, 1, 1, 3, 2, 1, 1]


def test_a_batch_makes_so_many_partitions() -> None:
    steps = [create(0, 300), create(1, 100), create(2, 1), create(3, 5000), create(4)]
    assert [len(batch) for batch in batches(steps, SUBJECTS.kinds)] == [2, 1, 1, 1]


def test_what_waits_for_an_acl_that_failed() -> None:
    allow, deny = acl("a", ALLOW), acl("a", DENY)
    wrong = TowpathError("no")

    def held(first: Step, step: access.AccessStep) -> bool:
        return bool(ACCESS.held_back([step], [(first, wrong)]))

    assert held(CreateAcl(deny, ""), CreateAcl(allow, ""))
    assert held(CreateAcl(acl("a", DENY, "*"), ""), CreateAcl(allow, ""))
    assert held(CreateAcl(deny, ""), CreateAcl(acl("a", ALLOW, "*"), ""))
    assert held(DeleteAcl(allow), DeleteAcl(deny))
    assert not held(CreateAcl(deny, ""), CreateAcl(acl("b", ALLOW), ""))
    assert not held(CreateAcl(deny, ""), CreateAcl(acl("a", ALLOW, "bob"), ""))
    assert not held(CreateAcl(allow, ""), CreateAcl(deny, ""))
    assert not held(CreateAcl(deny, ""), CreateAcl(acl("a", DENY, "*"), ""))
    assert not held(CreateAcl(deny, ""), DeleteAcl(allow))
    assert not held(DeleteAcl(deny), DeleteAcl(allow))
    assert not held(create(0), CreateAcl(allow, ""))
