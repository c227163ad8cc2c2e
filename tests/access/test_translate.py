"""Which ACLs of the source the target should have, without any cluster."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from towpath.access.translate import Translated, translate
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import TopicName
from towpath.settings import AclMode, TopicsConfig


def acl(
    operation: Operation = Operation.READ,
    name: str = "orders",
    resource: Resource = Resource.TOPIC,
    pattern: Pattern = Pattern.LITERAL,
    permission: Permission = Permission.ALLOW,
    host: str = EVERY,
) -> Acl:
    return Acl(
        resource=resource,
        name=name,
        pattern=pattern,
        principal="User:ann",
        host=host,
        operation=operation,
        permission=permission,
    )


def prefixed(name: str, permission: Permission = Permission.ALLOW) -> Acl:
    return acl(name=name, pattern=Pattern.PREFIXED, permission=permission)


def translated(
    acls: Iterable[Acl], mode: AclMode = AclMode.SAFE, rename: str = "{topic}"
) -> Translated:
    topics = TopicsConfig(include=("orders", "payments", "later"), rename=rename)
    names = {TopicName(name): topics.target_name(name) for name in ("orders", "payments")}
    return translate(acls, mode, topics, names)


def test_nothing_is_wanted_unless_it_is_asked_for() -> None:
    assert translated([acl()], AclMode.OFF) == Translated()


@pytest.mark.parametrize(
    "operation",
    [
        Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS,
        Operation.CREATE, Operation.IDEMPOTENT_WRITE, Operation.CLUSTER_ACTION,
    ],
)  # fmt: skip
def test_what_changes_copies_is_withheld_before_the_cutover(operation: Operation) -> None:
    assert translated([acl(operation)]) == Translated(withheld=[acl(operation)])
    assert list(translated([acl(operation)], AclMode.FULL).wanted) == [acl(operation)]
    denied = acl(operation, permission=Permission.DENY)
    assert list(translated([denied]).wanted) == [denied]


@pytest.mark.parametrize(
    "operation", [Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS]
)
def test_what_only_looks_is_copied(operation: Operation) -> None:
    assert list(translated([acl(operation, host="10.0.0.1")]).wanted) == [
        acl(operation, host="10.0.0.1")
    ]


@pytest.mark.parametrize(
    ("resource", "left"),
    [
        (Resource.TOPIC, Operation.READ),
        (Resource.GROUP, Operation.READ),
        (Resource.CLUSTER, Operation.DESCRIBE),
        (Resource.TRANSACTIONAL_ID, Operation.DESCRIBE),
        (Resource.DELEGATION_TOKEN, Operation.DESCRIBE),
        (Resource.USER, Operation.DESCRIBE_TOKENS),
    ],
)
def test_of_all_operations_reading_is_left(resource: Resource, left: Operation) -> None:
    everything = acl(Operation.ALL, resource=resource)
    assert translated([everything]) == Translated(
        wanted={acl(left, resource=resource): everything}, narrowed=[everything]
    )
    assert list(translated([everything], AclMode.FULL).wanted) == [everything]
    denied = acl(Operation.ALL, resource=resource, permission=Permission.DENY)
    assert list(translated([denied]).wanted) == [denied]


def test_what_the_target_does_not_know_is_listed() -> None:
    topics = TopicsConfig(include=("orders",))
    new = acl(Operation.TWO_PHASE_COMMIT, "t", Resource.TRANSACTIONAL_ID)
    user, old = acl(name="u", resource=Resource.USER), acl()
    found = translate(
        [new, user, old],
        AclMode.FULL,
        topics,
        {TopicName("orders"): TopicName("orders")},
        {Resource.USER, Operation.TWO_PHASE_COMMIT},
    )
    assert (list(found.wanted), set(found.too_new)) == ([old], {new, user})


def test_what_becomes_the_same_is_one() -> None:
    both = [acl(Operation.ALL), acl()]
    assert list(translated(both).wanted) == [acl()]


def test_topics_that_are_not_mirrored_keep_theirs_to_themselves() -> None:
    strangers = [acl(name="audit"), prefixed("orders2"), prefixed(EVERY), acl(name="zzz")]
    found = translated(strangers)
    assert (found.wanted, found.elsewhere) == ({}, 4)


DENY = Permission.DENY


@pytest.mark.parametrize("wide", [acl(name=EVERY), prefixed("o")])
def test_what_is_denied_on_other_topics_goes_where_what_is_allowed_reaches(wide: Acl) -> None:
    reached = [acl(name="older", permission=DENY), prefixed("old", DENY)]
    strangers = [prefixed("zzz", DENY), acl(name="older")]
    found = translated([wide, *strangers, *reached], rename="eu.{topic}")
    guards = [acl(name="eu.older", permission=DENY), prefixed("eu.old", DENY)]
    if wide.about_all:
        guards.append(prefixed("eu.zzz", DENY))
    assert set(found.wanted) == {*guards, prefixed("eu." if wide.about_all else "eu.o")}
    assert set(found.guards) == set(guards)
    assert found.elsewhere == 5 - 1 - len(guards)
    assert translated([acl(), *reached, *strangers]).guards == []


def test_what_is_denied_is_spared_as_long_as_the_source_has_it() -> None:
    denied = acl(name="older", permission=DENY)
    assert translated([denied], rename="eu.{topic}").spared == {
        acl(name="eu.older", permission=DENY)
    }
    assert translated([denied], rename="{topic}.eu").spared == set()


def test_which_acls_may_be_about_the_same() -> None:
    group = acl(resource=Resource.GROUP)
    same = [acl(), prefixed("ord"), prefixed("orders"), acl(name=EVERY)]
    others = [acl(name="order"), prefixed("orders2"), group]
    assert [acl().meets(each) and each.meets(acl()) for each in (*same, *others)] == (
        [True] * 4 + [False] * 3
    )
    assert prefixed("o").meets(prefixed("ord"))
    assert prefixed("ord").meets(prefixed("o"))
    assert not prefixed("ord").meets(prefixed("p"))
    assert acl(name=EVERY).meets(prefixed("p"))


def test_an_acl_of_a_topic_that_is_not_seen_just_now_is_spared() -> None:
    found = translated([acl(name="later"), prefixed("lat"), acl(name="audit")], rename="eu.{topic}")
    assert (found.wanted, found.elsewhere) == ({}, 3)
    assert found.spared == {acl(name="eu.later"), prefixed("eu.lat")}


def test_renamed_topics_rename_their_acls() -> None:
    group = acl(name="orders", resource=Resource.GROUP)
    found = translated([acl(), prefixed("ord"), group], rename="eu.{topic}")
    assert found.wanted == {
        acl(name="eu.orders"): acl(),
        prefixed("eu.ord"): prefixed("ord"),
        group: group,
    }


def test_an_acl_about_all_topics_stays_with_the_copies() -> None:
    every = acl(name=EVERY)
    assert list(translated([every]).wanted) == [every]
    assert translated([every], rename="eu.{topic}").wanted == {prefixed("eu."): every}


def test_what_cannot_be_renamed_is_listed() -> None:
    denied = prefixed("ord", Permission.DENY)
    found = translated([acl(name=EVERY), denied, acl()], rename="{topic}.eu")
    assert found.unnamed == [acl(name=EVERY), denied]
    assert list(found.wanted) == [acl(name="orders.eu")]
