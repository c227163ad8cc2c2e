"""What is to be done on the target, without any cluster."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.support.subjects.access_worlds import World, differ, link, named, texts
from towpath.access.diff import diff
from towpath.access.observe import ObservedAccess
from towpath.access.steps import (
    AccessStep,
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
)
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.findings import Cause
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism

READ = Acl(
    resource=Resource.TOPIC,
    name="orders",
    pattern=Pattern.LITERAL,
    principal="User:ann",
    host=EVERY,
    operation=Operation.READ,
    permission=Permission.ALLOW,
)
WRITE = Acl(
    resource=Resource.TOPIC,
    name="orders",
    pattern=Pattern.LITERAL,
    principal="User:ann",
    host=EVERY,
    operation=Operation.WRITE,
    permission=Permission.ALLOW,
)
DENIED = Acl(
    resource=Resource.TOPIC,
    name="o",
    pattern=Pattern.PREFIXED,
    principal="User:*",
    host="10.0.0.1",
    operation=Operation.ALL,
    permission=Permission.DENY,
)
ANN = Credential("ann", Mechanism.SHA_512)
BOB = Credential("bob", Mechanism.SHA_256)
SLOW = Quota((Entity(EntityKind.USER, "ann"),), QuotaKey.PRODUCER_BYTE_RATE)
CALM = Quota((Entity(EntityKind.IP, None),), QuotaKey.CONNECTION_CREATION_RATE)


def test_equal_sides_need_no_step() -> None:
    for mode in ("safe", "full"):
        world = World({READ, DENIED}, {ANN: 4096}, {SLOW: 1024.0}, {"a": "1"})
        found = differ(world, world, link(mode, ["ann"]))
        assert (found.steps, found.problems) == ((), ())


def test_what_is_denied_is_made_first_and_removed_last() -> None:
    full = World({READ, WRITE, DENIED})
    made = differ(full, World(), link()).steps
    assert made == (
        CreateAcl(DENIED, str(DENIED)),
        CreateAcl(READ, str(READ)),
        CreateAcl(WRITE, str(WRITE)),
    )
    assert differ(World(), full, link(prune=True), full.things).steps == (
        DeleteAcl(WRITE),
        DeleteAcl(READ),
        DeleteAcl(DENIED),
    )


def test_safe_counts_what_it_withholds_and_names_it() -> None:
    everything = Acl(
        resource=Resource.GROUP,
        name="g",
        pattern=Pattern.LITERAL,
        principal="User:ann",
        host=EVERY,
        operation=Operation.ALL,
        permission=Permission.ALLOW,
    )
    found = differ(World({READ, WRITE, everything}), World(), link("safe"))
    assert [step.about for step in found.steps] == [
        "allow User:ann to read on group g",
        "allow User:ann to read on topic orders",
    ]
    assert found.withheld == {Operation.ALL: 1, Operation.WRITE: 1}
    assert texts(found, str(WRITE)) == ["stays at the source until `access.acls: full`"]
    assert "allows only reading" in texts(found, str(everything))[0]


def test_five_thousand_acls_need_a_handful_of_texts() -> None:
    acls = {
        Acl(
            resource=Resource.TOPIC,
            name=name,
            pattern=pattern,
            principal=f"User:{n}",
            host=EVERY,
            operation=operation,
            permission=Permission.ALLOW,
        )
        for n in range(500)
        for name in ("orders", "audit")
        for pattern in Pattern
        for operation in (Operation.ALL, Operation.WRITE, Operation.READ)
    }
    found = differ(World(acls), World(), link("safe", rename="{topic}.eu"))
    assert len(acls) > 5000
    assert len({note.text for note in found.notes}) == 4
    assert found.withheld == {Operation.ALL: 500, Operation.WRITE: 1000}
    assert "3000 ACLs of topics that are not mirrored are not copied" in texts(found, "access.acls")


def test_what_cannot_be_renamed_is_told_by_name() -> None:
    found = differ(World({DENIED}), World(), link(rename="{topic}.eu"))
    assert not found.steps
    (text,) = texts(found, str(DENIED))
    assert "under `topics.rename`, topics with the same prefix at the source have different" in text
    assert text.endswith("until then those whom it denies have access")


def test_an_acl_that_shuts_the_link_out_is_told() -> None:
    mine = Acl(
        resource=Resource.TOPIC,
        name="orders",
        pattern=Pattern.LITERAL,
        principal="User:mirror",
        host=EVERY,
        operation=Operation.WRITE,
        permission=Permission.DENY,
    )
    found = differ(World({mine}), World(), link("safe"))
    assert [step.about for step in found.steps] == [str(mine)]
    assert "prevents this link itself from writing mirror topics" in texts(found, str(mine))[0]
    assert not texts(differ(World({mine}), World(), link(login="other")), str(mine))


def test_only_what_is_ours_is_removed_and_only_with_prune() -> None:
    there = World({READ, WRITE}, {ANN: 4096, BOB: 4096}, {SLOW: 1.0, CALM: 2.0})
    ours = {("acls", str(READ)), ("users", str(ANN)), ("quotas", str(SLOW)), ("users", str(READ))}
    source = World(users={Credential("eve", Mechanism.SHA_256): 4096})
    kept = differ(source, there, link(users=["eve"]), ours)
    assert [step.about for step in kept.steps] == ["eve (SCRAM-SHA-256)"]
    for thing in (READ, ANN, SLOW):
        assert "`prune: true` removes it" in texts(kept, str(thing))[0]
    for thing in (WRITE, BOB, CALM):
        assert not texts(kept, str(thing))
    gone = differ(source, there, link(users=["eve"], prune=True), ours)
    assert set(gone.steps) - set(kept.steps) == {
        DeleteAcl(READ), DeleteUser(ANN, 4096), RemoveQuota(SLOW, 1.0),
    }  # fmt: skip


def test_what_stays_of_what_is_switched_off_is_counted() -> None:
    there = World({READ, WRITE}, {ANN: 4096, BOB: 4096}, {SLOW: 1.0})
    ours = {*there.things, ("topics", "orders")} - {("users", str(BOB))}
    off = link("off", quotas=False, prune=True)
    found = diff(ObservedAccess(), off, named(off), frozenset(ours))
    assert (found.steps, found.problems) == ((), ())
    stays = "is switched off; what this link made of it on the target stays there"
    assert {note.about: note.text.rpartition("; ")[0] for note in found.notes} == {
        "access.acls": f"{stays} (ACLs: 2)",
        "access.users": f"{stays} (passwords of SCRAM users: 1)",
        "access.quotas": f"{stays} (quotas: 1)",
    }
    assert all("`prune: true`, to have them removed" in note.text for note in found.notes)
    assert not diff(ObservedAccess(), off, named(off), frozenset()).notes
    # Where a cluster did not tell of what is asked for, another sentence says so.
    on = link(users=["ann"])
    assert not diff(ObservedAccess(), on, named(on), frozenset(ours)).notes


def test_users_that_are_not_listed_any_more_are_counted() -> None:
    both = World(users={ANN: 4096, BOB: 4096})
    found = differ(both, both, link(users=["bob"], prune=True), both.things)
    assert not found.steps
    [text] = texts(found, "access.users")
    assert text.startswith("no longer lists some users; ")
    assert "stays there (passwords of SCRAM users: 1); " in text
    assert not texts(differ(both, both, link(users=["bob"])), "access.users")
    assert not texts(differ(both, both, link(users=["ann", "bob"]), both.things), "access.users")
    gone = differ(World(users={BOB: 4096}), both, link(users=["bob"]), both.things)
    assert (texts(gone, "access.users"), len(texts(gone, str(ANN)))) == ([], 1)


def test_a_topic_that_is_not_seen_just_now_keeps_its_acls() -> None:
    both = World({READ, DENIED})
    found = differ(both, both, link(prune=True), both.things, names={})
    assert (found.steps, found.problems) == ((), ())
    out_of_sight = Acl(**{**{name: getattr(READ, name) for name in READ.__slots__}, "name": "x"})
    gone = differ(World({out_of_sight}), World({out_of_sight}), link(prune=True), both.things)
    assert not gone.steps
    ours = [("acls", str(out_of_sight))]
    assert differ(World({out_of_sight}), World({out_of_sight}), link(prune=True), ours).steps == (
        DeleteAcl(out_of_sight),
    )


def test_users_are_set_as_the_source_has_them() -> None:
    source = World(users={ANN: 8192, BOB: 4096})
    fresh = differ(source, World(), link(users=["ann", "bob"]))
    assert fresh.steps == (SetUser(ANN, 8192, None), SetUser(BOB, 4096, None))
    weaker = differ(source, World(users={ANN: 4096, BOB: 9000}), link(users=["ann", "bob"]))
    assert weaker.steps == (), "it may be another user of this name, with a password of its own"
    assert "it is not known whether its password is the one" in texts(weaker, str(ANN))[0]
    ours = differ(source, World(users={ANN: 4096}), link(users=["ann"]), [("users", str(ANN))])
    assert ours.steps == (SetUser(ANN, 8192, 4096),)
    assert "it is not known whether its password is the one" in texts(weaker, str(BOB))[0]
    known = differ(source, World(users={BOB: 9000}), link(users=["bob"]), [("users", str(BOB))])
    assert not texts(known, str(BOB))


@pytest.mark.parametrize(("told", "taken"), [(20_000, 16_384), (16_384, 16_384), (100, 4096)])
def test_iterations_are_those_that_brokers_take(told: int, taken: int) -> None:
    found = differ(World(users={ANN: told}), World(), link(users=["ann"]))
    assert found.steps == (SetUser(ANN, taken, None),)
    wanted = [f"gets {taken} iterations instead of {told}: brokers accept 4096 to 16384"]
    assert texts(found, str(ANN)) == (wanted if told != taken else [])
    assert not differ(
        World(users={ANN: told}), World(users={ANN: taken}), link(users=["ann"])
    ).steps


def test_users_that_nobody_listed_are_told_with_what_to_write() -> None:
    source = World(users={ANN: 4096, Credential("ann", Mechanism.SHA_256): 4096, BOB: 4096})
    found = differ(source, World(users={BOB: 4096}), link(users=["bob"]))
    assert not found.steps
    (text,) = texts(found, "ann")
    assert "NAME: env:VARIABLE or NAME: file:PATH" in text
    assert not texts(found, "bob")


def test_a_listed_user_that_the_source_lacks_is_a_problem() -> None:
    found = differ(World(users={ANN: 4096}), World(), link(users=["anne", "ann"]))
    (problem,) = found.problems
    assert (problem.about, problem.cause) == ("access.users.anne", Cause.SUBJECT)
    assert problem.text == (
        "the source has no SCRAM user of this name (the nearest are ann); correct it, or remove the"
        " line"
    )
    assert found.steps == (SetUser(ANN, 4096, None),)


def test_quotas_follow_the_source() -> None:
    found = differ(World(quotas={SLOW: 10.0, CALM: 5.0}), World(quotas={SLOW: 9.5}), link())
    assert found.steps == (SetQuota(CALM, 5.0, None), SetQuota(SLOW, 10.0, 9.5))
    assert not texts(found, str(SLOW))


@pytest.mark.parametrize(
    ("entities", "slows"),
    [
        ({"user": None}, True),
        ({"user": "mirror", "client-id": "towpath"}, True),
        ({"client-id": "towpath"}, True),
        ({"user": "mirror", "client-id": "other"}, False),
    ],
)
def test_quotas_that_may_slow_the_link_are_told(
    entities: dict[str, str | None], slows: bool
) -> None:
    whose = tuple(Entity(EntityKind(kind), name) for kind, name in entities.items())
    for key in set(QuotaKey) - {QuotaKey.CONNECTION_CREATION_RATE}:
        quota = Quota(whose, key)
        found = differ(World(quotas={quota: 1.0}), World(), link())
        assert bool(texts(found, str(quota))) is slows


def test_configs_of_all_brokers_are_only_told() -> None:
    source = World(configs={"same": "1", "other": "2", "hidden": None, "empty": ""})
    found = differ(source, World(configs={"same": "1", "other": "3", "more": "4"}), link())
    assert not found.steps
    told = {note.about: note.text.partition(";")[0].partition(": ")[2] for note in found.notes}
    assert told == {
        "other": "2 at the source, 3 on the target",
        "hidden": "a secret value at the source, not set on the target",
        "empty": " at the source, not set on the target",
        "more": "not set at the source, 4 on the target",
    }


def test_what_the_login_may_not_change_is_one_problem() -> None:
    source = World({READ, WRITE}, quotas={SLOW: 1.0})
    found = differ(source, World(), link(), refusals={"acls": "target: no right", "users": "x"})
    assert [step.subject for step in found.steps] == ["quotas"]
    (problem,) = found.problems
    assert (problem.about, problem.text) == (
        "access.acls", "target: no right; 2 changes wait for it",
    )  # fmt: skip
    assert problem.cause is Cause.RIGHTS


STEPS = [
    CreateAcl(DENIED, str(DENIED)),
    DeleteAcl(READ),
    SetUser(ANN, 8192, None),
    DeleteUser(ANN, 4096),
    SetQuota(SLOW, 1.5, 1.0),
    RemoveQuota(CALM, 2.0),
]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_plain_json(step: AccessStep) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(type(step))
    assert adapter.validate_json(adapter.dump_json(step)) == step
    assert step.subject in {"acls", "users", "quotas"}
    assert step.creates is (step in {STEPS[0], STEPS[2]})


def test_json_of_an_acl_reads_well() -> None:
    written = TypeAdapter(DeleteAcl).dump_python(DeleteAcl(DENIED), mode="json")
    assert written == {
        "acl": {
            "resource": "topic", "name": "o", "pattern": "prefixed", "principal": "User:*",
            "host": "10.0.0.1", "operation": "all", "permission": "deny",
        }
    }  # fmt: skip
