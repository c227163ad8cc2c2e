"""ACLs, SCRAM users, quotas and configs of real clusters, with and without an authorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from tests.support.clusters.certificates import Vault
from tests.support.kafka import wait_until
from tests.support.subjects.access_sides import Sides, clear, every_kind, link
from towpath.access.apply import apply
from towpath.access.diff import diff
from towpath.access.observe import observe
from towpath.access.steps import AccessStep, DeleteUser, RemoveQuota, SetQuota, SetUser
from towpath.cluster.admin import Admin
from towpath.cluster.admin.changes import tell_controller
from towpath.dev.broker import LocalCluster
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import ClusterError, ConfigError, RefusedError, StepOutdatedError
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.settings import LinkConfig

pytestmark = pytest.mark.broker

NewName = Callable[[str], str]
PASSWORD = Secret("the new one")


@pytest.fixture
def sides(
    secured_source: LocalCluster,
    secured_version: LocalCluster,
    vault: Vault,
    new_name: NewName,
) -> Iterator[Sides]:
    target = secured_version
    user = new_name("person") + "-x"  # so that no name begins another's
    config = link(secured_source, target, vault, rename="eu.{topic}", users={user: PASSWORD})
    doors = (secured_source.back_door, target.back_door)
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as admin:
        made = Sides(source, admin, config, user, doors)
        yield made
        for each in (source, admin):
            clear(each, user)


@pytest.mark.alone
def test_everything_goes_over_and_a_second_plan_is_empty(sides: Sides, vault: Vault) -> None:
    user, source = sides.user, sides.source
    acls = every_kind(user, list(Operation)) | {
        Acl(
            resource=Resource.TOPIC,
            name=EVERY,
            pattern=Pattern.LITERAL,
            principal=f"User:{user}",
            host=EVERY,
            operation=Operation.READ,
            permission=Permission.ALLOW,
        )
    }
    assert not source.acls.create(acls).failed
    door = AdminClient({"bootstrap.servers": sides.back_doors[0]})
    for mechanism, iterations in (
        (ScramMechanism.SCRAM_SHA_256, 4096), (ScramMechanism.SCRAM_SHA_512, 8192),
    ):  # fmt: skip
        info = ScramCredentialInfo(mechanism, iterations)
        made = door.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, b"old")])
        made[user].result(30)
    quotas = {
        Quota((Entity(EntityKind.USER, user),), QuotaKey.PRODUCER_BYTE_RATE): 1048576.0,
        Quota(
            (Entity(EntityKind.USER, user), Entity(EntityKind.CLIENT_ID, None)),
            QuotaKey.REQUEST_PERCENTAGE,
        ): 12.5,
        Quota((Entity(EntityKind.CLIENT_ID, user),), QuotaKey.CONTROLLER_MUTATION_RATE): 2.0,
    }
    for quota, value in quotas.items():
        source.quotas.change(quota, value)

    new = {acl for acl in acls if acl.operation is Operation.TWO_PHASE_COMMIT}
    too_new = new if sides.target.cluster.release.numbers < (4, 1) else set()
    wanted = len(acls) - len(too_new) + 2 + len(quotas)
    wait_until(lambda: len(sides.differ().steps) == wanted, "all is seen")
    found = sides.differ()
    assert not found.problems
    old = "the target's brokers are too old to know such ACLs, so it is not copied"
    assert {note.about for note in found.notes if note.text == old} == set(map(str, too_new))
    for _ in "once", "and again without harm":
        sides.apply(found)
    sides.settled()

    there = AdminClient({"bootstrap.servers": sides.back_doors[1]})
    described = there.describe_acls(of(user)).result(30)
    assert {(b.restype, b.name, b.resource_pattern_type) for b in described} >= {
        (ResourceType.TOPIC, f"eu.{user}", ResourcePatternType.LITERAL),
        (ResourceType.TOPIC, f"eu.{user}", ResourcePatternType.PREFIXED),
        (ResourceType.TOPIC, "eu.", ResourcePatternType.PREFIXED),
        (ResourceType.GROUP, user, ResourcePatternType.PREFIXED),
        (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL),
        (ResourceType.TRANSACTIONAL_ID, user, ResourcePatternType.LITERAL),
    }
    listing = sides.target.acls.describe()
    assert listing is not None
    assert {acl for acl in listing.known if user in str(acl)} >= {
        acl for acl in acls if acl.resource in {Resource.DELEGATION_TOKEN, Resource.USER}
    }
    assert sides.target.quotas.describe().known.items() >= quotas.items()
    assert set(sides.target.users.describe([user]).values()) == {4096, 8192}
    for ours in Mechanism:
        login = {"mechanism": ours, "username": user, "password": PASSWORD}
        config = link_side(sides.config, vault, login)
        with Admin(config, Side.TARGET) as admin:
            assert admin.cluster.brokers()


def of(user: str) -> AclBindingFilter:
    """Return what finds all ACLs of a user; its types do not say that `None` may stand for any."""
    any_: Any = None
    return AclBindingFilter(
        ResourceType.ANY, any_, ResourcePatternType.ANY, f"User:{user}", any_, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip


def link_side(config: LinkConfig, vault: Vault, login: dict[str, Any]) -> Any:
    tls = {"ca": str(vault.ca)}
    written = {"bootstrap": list(config.target.bootstrap), "tls": tls, "sasl": login}
    return type(config.target).model_validate(written)


@pytest.mark.alone
def test_what_is_gone_at_the_source_goes_only_with_prune(sides: Sides) -> None:
    user = sides.user
    kept, ours, foreign = (
        Acl(
            resource=Resource.GROUP,
            name=f"{user}.{n}",
            pattern=Pattern.LITERAL,
            principal=f"User:{user}",
            host=EVERY,
            operation=Operation.READ,
            permission=Permission.ALLOW,
        )
        for n in ("kept", "ours", "foreign")
    )
    rate, share = (
        Quota((Entity(EntityKind.USER, user),), key)
        for key in (QuotaKey.CONSUMER_BYTE_RATE, QuotaKey.REQUEST_PERCENTAGE)
    )
    one, other = (Credential(user, mechanism) for mechanism in Mechanism)
    assert not sides.source.acls.create([kept]).failed
    sides.source.users.set_credential(one, 4096, PASSWORD)
    assert not sides.target.acls.create([kept, ours, foreign]).failed
    for quota in (rate, share):
        sides.target.quotas.change(quota, 7.0)
    for credential in (one, other):
        sides.target.users.set_credential(credential, 4096, PASSWORD)

    mine = frozenset({("acls", str(ours)), ("quotas", str(rate)), ("users", str(other))})
    wait_until(
        lambda: len(sides.differ(ours=mine, prune=True).steps) == 3 and not sides.differ().steps,
        "all is seen",
    )
    found = sides.differ(ours=mine, prune=True)
    assert {type(step).__name__ for step in found.steps} == {
        "DeleteAcl", "DeleteUser", "RemoveQuota",
    }  # fmt: skip
    for _ in "once", "and again without harm":
        sides.apply(found)
    sides.settled(ours=mine, prune=True)
    listing = sides.target.acls.describe()
    assert listing is not None
    assert {acl for acl in listing.known if user in str(acl)} == {kept, foreign}
    assert {q for q in sides.target.quotas.describe().known if user in str(q)} == {share}
    assert sides.target.users.describe([user]) == {one: 4096}


@pytest.mark.alone
def test_a_step_whose_precondition_is_gone_does_nothing(sides: Sides) -> None:
    user = sides.user
    quota = Quota((Entity(EntityKind.USER, user),), QuotaKey.CONSUMER_BYTE_RATE)
    credential = Credential(user, Mechanism.SHA_512)
    sides.target.quotas.change(quota, 1048576.0)
    sides.target.users.set_credential(credential, 4096, PASSWORD)
    wait_until(
        lambda: (
            quota in sides.target.quotas.describe().known
            and credential in sides.target.users.describe([user])
        ),
        "both are there",
    )
    changed = "changed since this was planned: it should have"
    outdated: list[tuple[AccessStep, str]] = [
        (SetQuota(quota, 3.0, None), f"{changed} none and has 1048576;"),
        (RemoveQuota(quota, 2.5), f"{changed} 2.5 and has 1048576;"),
        (SetUser(credential, 8192, None), f"{changed} none and has 4096 iterations;"),
        (DeleteUser(credential, 8192), f"{changed} 8192 iterations and has 4096 iterations;"),
    ]
    for step, text in outdated:
        with pytest.raises(StepOutdatedError, match=text):
            apply(step, sides.target, {user: PASSWORD})
    assert sides.target.users.describe([user]) == {credential: 4096}
    with pytest.raises(ConfigError, match=f"access.users.{user}: is required by this plan"):
        apply(SetUser(credential, 8192, 4096), sides.target, {})
    with pytest.raises(RefusedError, match="it needs 4096 to 16384 iterations"):
        sides.target.users.set_credential(credential, 16_385, PASSWORD)
    assert sides.target.users.describe(["nobody-of-this-name"]) == {}
    with pytest.raises(RefusedError, match="setting the quota of user"):
        sides.target.quotas.change(quota, -1.0)


@pytest.mark.alone
def test_missing_rights_are_told_with_right_and_login(
    secured_source: LocalCluster, secured_target: LocalCluster, vault: Vault, new_name: NewName
) -> None:
    user = new_name("wanted")
    config = link(
        secured_source, secured_target, vault, logins=("nobody", "mirror"), users={user: PASSWORD}
    )
    sees = [
        Acl(
            resource=Resource.CLUSTER,
            name="kafka-cluster",
            pattern=Pattern.LITERAL,
            principal="User:mirror",
            host=EVERY,
            operation=operation,
            permission=Permission.ALLOW,
        )
        for operation in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
    ]
    whole = link(secured_source, secured_target, vault)
    with (
        Admin(config.source, Side.SOURCE) as source,
        Admin(config.target, Side.TARGET) as target,
        Admin(whole.target, Side.TARGET) as admin,
    ):
        blind = observe(source, target, config)
        assert not admin.acls.create(sees).failed
        try:
            wait_until(lambda: sees_all(target), "the rights hold")
            found = observe(source, target, config)
        finally:
            assert not admin.acls.delete(sees).failed
    assert (blind.acls, blind.users, blind.quotas, blind.configs) == (None, None, None, None)
    assert {(o.about, o.text) for o in blind.problems} == {
        (f"access.{what}", needs(side, asking, right))
        for side in Side
        for what, asking, right in (
            ("acls", "asking for the ACLs", "Describe"),
            ("users", "asking for the SCRAM users", "Describe"),
            ("quotas", "asking for the client quotas", "DescribeConfigs"),
        )
    }
    assert [note.text for note in blind.notes] == [
        needs(side, "asking for the configs of all brokers", "DescribeConfigs")
        + "; until then none are compared"
        for side in Side
    ]
    assert {problem.text.partition(":")[0] for problem in found.problems} == {"source"}
    assert found.refusals == {
        subject: f"target: the login mirror lacks the ACL {right} on the cluster; add it there"
        for subject, right in (("acls", "Alter"), ("users", "Alter"), ("quotas", "AlterConfigs"))
    }


def needs(side: Side, asking: str, right: str) -> str:
    login = {"source": "nobody", "target": "mirror"}[side]
    return (
        f"{side}: {asking}: CLUSTER_AUTHORIZATION_FAILED (31); the login needs the ACL {right} on"
        f" the cluster; that login is {login}"
    )


def sees_all(admin: Admin) -> bool:
    try:
        (
            admin.acls.describe(),
            admin.users.describe(),
            admin.quotas.describe(),
            admin.cluster.configs(),
        )
    except ClusterError:
        return False
    return True


def test_clusters_without_an_authorizer(
    lone: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    """Plans of other tests would tell of the configs of all brokers, so the source is `lone`."""
    user, key = new_name("plain"), new_name("towpath.secret")
    config = link(lone, target, None, users={user: PASSWORD})
    credential = Credential(user, Mechanism.SHA_256)
    with Admin(config.source, Side.SOURCE) as one, Admin(config.target, Side.TARGET) as other:
        set_for_all(one, {"background.threads": "11", key: "hunter2"})
        try:
            one.users.set_credential(credential, 4096, PASSWORD)
            wait_until(
                lambda: credential in one.users.describe() and key in one.cluster.configs(), "made"
            )
            found = diff(observe(one, other, config), config, {}, frozenset())
        finally:
            set_for_all(one, {"background.threads": None, key: None})
        apply(found.steps[0], other, config.access.users)
        wait_until(lambda: credential in other.users.describe([user]), "the user is there")
        acl = Acl(
            resource=Resource.GROUP,
            name="g",
            pattern=Pattern.LITERAL,
            principal="User:a",
            host=EVERY,
            operation=Operation.READ,
            permission=Permission.ALLOW,
        )
        with pytest.raises(RefusedError, match=r"SECURITY_DISABLED \(54\)"):
            other.acls.create([acl]).sure(acl)
    assert [step.about for step in found.steps] == [str(credential)]
    assert not found.problems
    told = {note.about: note.text for note in found.notes}
    assert told["background.threads"].startswith(
        "config of all brokers: 11 at the source, 10 on the target;"
    )
    assert told[key].startswith("config of all brokers: a secret value at the source, not set")
    assert "hunter2" not in repr(found)
    assert [note.text for note in found.notes if note.about == "access.acls"] == [
        f"{side}: the cluster has no authorizer, so it keeps no ACLs; none are copied"
        for side in Side
    ]


def set_for_all(admin: Admin, values: dict[str, str | None]) -> None:
    """Change configs of all brokers; librdkafka wants a broker's number."""
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    entries = [
        kind.AlterableConfig(name=name, config_operation=int(value is None), value=value)
        for name, value in values.items()
    ]
    every = kind(resource_type=4, resource_name="", configs=entries)
    request = IncrementalAlterConfigsRequest(resources=[every], validate_only=False)
    what = "changing configs of all brokers"
    answer = tell_controller(admin._control, what, request, lambda answer: answer)
    assert [said.error_code for said in answer.responses] == [0]
