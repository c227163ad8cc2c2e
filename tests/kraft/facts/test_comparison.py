"""Two images compared: each difference is named, and what differs by design is none."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.kraft.facts import digests
from towpath.kraft.facts.comparison import compare, digest, unwritable, unwritable_names
from towpath.kraft.facts.image import (
    ClusterImage,
    ConfigOf,
    ImageDifference,
    ImageKind,
    PartitionImage,
    TopicImage,
)
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Credential, Mechanism

PARTITION = PartitionImage(
    replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, leader_epoch=4, partition_epoch=9
)
ACL = Acl(
    resource=Resource.TOPIC,
    name="orders",
    pattern=Pattern.LITERAL,
    principal="User:alice",
    host="*",
    operation=Operation.READ,
    permission=Permission.ALLOW,
)
ALICE = (Entity(EntityKind.USER, "alice"),)
CREDENTIAL = Credential("alice", Mechanism.SHA_256)
KEYSTORE = "listener.name.tls.ssl.keystore.password"
TOKEN = digests.token("User:alice", "User:bob", ["User:c", "User:d"], (1, 2, 3))


def image() -> ClusterImage:
    return ClusterImage(
        topics={
            "orders": TopicImage("AAAAAAAAAAAAAAAAAAAAAg", {0: PARTITION, 10: PARTITION}),
            "pay-1": TopicImage("AAAAAAAAAAAAAAAAAAAAAw", {0: PARTITION}),
        },
        configs={
            (ConfigOf.TOPIC, "orders"): {"retention.ms": "1000", "cleanup.policy": "compact"},
            (ConfigOf.BROKER, ""): {"log.cleaner.threads": "2"},
            (ConfigOf.BROKER, "1"): {KEYSTORE: digests.value_or_digest(KEYSTORE, "hunter2")},
        },
        acls=frozenset({ACL}),
        users={CREDENTIAL: digests.scram(8192, b"salt", b"stored", b"server")},
        quotas={ALICE: {"producer_byte_rate": 1e6}},
        tokens={"t1": TOKEN},
        producer_ids=3000,
    )


def partition(**changes: object) -> ClusterImage:
    topics = dict(image().topics)
    changed = replace(PARTITION, **changes)  # type: ignore[arg-type]
    topics["orders"] = TopicImage(topics["orders"].id, {0: changed, 10: PARTITION})
    return replace(image(), topics=topics)


def found(log: ClusterImage) -> list[tuple[str, str, str]]:
    """What differs from a log, from its kind on; the opposite comparison finds the same."""
    ways = compare(image(), log), compare(log, image())
    there, back = ([(d.kind, d.name) for d in way.differences] for way in ways)
    if log.producer_ids == image().producer_ids:
        assert there == back
    return [(each.name, each.zookeeper, each.log) for each in ways[0].differences]


def test_equal_images_are_equal_and_all_is_counted() -> None:
    result = compare(image(), image())
    assert result.equal
    assert result.compared == {
        ImageKind.TOPICS: 2,
        ImageKind.PARTITIONS: 3,
        ImageKind.CONFIGS: 4,
        ImageKind.ACLS: 1,
        ImageKind.USERS: 1,
        ImageKind.QUOTAS: 1,
        ImageKind.TOKENS: 1,
        ImageKind.PRODUCER_IDS: 1,
    }
    assert result.digests == digest(image())


def test_what_is_missing_in_either_is_named_with_what_the_other_has() -> None:
    assert found(ClusterImage()) == [
        ("allow User:alice to read on topic orders", "present", ""),
        ("broker 1: listener.name.tls.ssl.keystore.password", "a secret", ""),
        ("default of all brokers: log.cleaner.threads", "2", ""),
        ("topic orders: cleanup.policy", "compact", ""),
        ("topic orders: retention.ms", "1000", ""),
        ("next producer id", "3000", ""),
        ("user alice: producer_byte_rate", "1000000.0", ""),
        (
            "t1",
            "owner User:alice, requester User:bob, renewers User:c, User:d, issued 1, expires 2,"
            " until 3",
            "",
        ),
        ("orders", "id AAAAAAAAAAAAAAAAAAAAAg, partitions 2", ""),
        ("pay-1", "id AAAAAAAAAAAAAAAAAAAAAw, partitions 1", ""),
        ("alice (SCRAM-SHA-256)", "iterations 8192, a secret", ""),
    ]


@pytest.mark.parametrize(
    ("log", "name", "zookeeper", "told", "passing"),
    [
        (partition(replicas=(2, 1, 3)), "orders-0: replicas", "1, 2, 3", "2, 1, 3", False),
        (partition(adding=(4,)), "orders-0: adding", "", "4", False),
        (partition(removing=(3,)), "orders-0: removing", "", "3", False),
        (partition(isr=(1, 3)), "orders-0: isr", "1, 2, 3", "1, 3", True),
        (partition(leader=2), "orders-0: leader", "1", "2", True),
        (partition(leader_epoch=5), "orders-0: leader epoch", "4", "5", True),
        (replace(image(), producer_ids=4000), "next producer id", "3000", "4000", False),
        (
            replace(image(), quotas={ALICE: {"producer_byte_rate": 5.0}}),
            *("user alice: producer_byte_rate", "1000000.0", "5.0", False),
        ),
        (
            replace(image(), users={CREDENTIAL: digests.scram(8192, b"s", b"stored", b"server")}),
            *("alice (SCRAM-SHA-256): a secret", "a secret", "another secret", False),
        ),
        (
            replace(image(), tokens={"t1": replace(TOKEN, expires=9)}),
            *("t1: expires", "2", "9", False),
        ),
    ],
)
def test_one_change_is_one_difference(
    log: ClusterImage, name: str, zookeeper: str, told: str, passing: bool
) -> None:
    assert found(log) == [(name, zookeeper, told)]
    (difference,) = compare(image(), log).differences
    assert difference.passing == passing


def test_a_topic_that_was_created_anew_has_another_id() -> None:
    topics = {**image().topics, "pay-1": TopicImage("BBBBBBBBBBBBBBBBBBBBBg", {0: PARTITION})}
    assert found(replace(image(), topics=topics)) == [
        ("pay-1: id", "AAAAAAAAAAAAAAAAAAAAAw", "BBBBBBBBBBBBBBBBBBBBBg")
    ]


@pytest.mark.parametrize(
    "log",
    [
        partition(partition_epoch=77),
        partition(isr=(3, 1, 2)),
        replace(image(), producer_ids=2000),
    ],
)
def test_what_differs_by_design_is_no_difference(log: ClusterImage) -> None:
    assert compare(image(), log).equal


def test_an_encoded_password_is_equal_to_any_but_not_to_none() -> None:
    configs = {**image().configs, (ConfigOf.BROKER, "1"): {KEYSTORE: digests.ENCODED}}
    zookeeper = replace(image(), configs=configs)
    compared = compare(zookeeper, image())
    assert compared.equal
    assert compared.unproven == (f"broker 1: {KEYSTORE}",), "its presence alone is known"
    assert compare(image(), image()).unproven == ()
    without = {key: value for key, value in configs.items() if key != (ConfigOf.BROKER, "1")}
    (difference,) = compare(zookeeper, replace(image(), configs=without)).differences
    assert (difference.zookeeper, difference.log) == ("a secret", "")


def test_no_secret_and_no_digest_of_one_is_shown() -> None:
    configs = {
        **image().configs,
        (ConfigOf.BROKER, "1"): {KEYSTORE: digests.value_or_digest(KEYSTORE, "other")},
    }
    (difference,) = compare(image(), replace(image(), configs=configs)).differences
    assert difference == ImageDifference(
        ImageKind.CONFIGS, f"broker 1: {KEYSTORE}", "a secret", "another secret"
    )


@pytest.mark.parametrize(
    "name", ["a/b", "/", ".", "..", "a\tb", "a\x7f", "a\x85", "\x1f", "\ue000", "\U0001f600"]
)
def test_an_acl_that_zookeeper_cannot_hold_is_found(name: str) -> None:
    stuck = replace(ACL, name=name)
    log = replace(image(), acls=image().acls | {stuck})
    assert unwritable(log) == (stuck,)
    assert found(log) == [(str(stuck), "", "present")]


@pytest.mark.parametrize("name", ["*", "a.b", "...", "orders", "\xe9", "\xa0", "a b%2F"])
def test_other_acls_can_be_written(name: str) -> None:
    assert unwritable(ClusterImage(acls=frozenset({replace(ACL, name=name)}))) == ()


@pytest.mark.parametrize("name", [".", ".."])
def test_quotas_and_users_of_relative_names_cannot_be_written(name: str) -> None:
    client, user = Entity(EntityKind.CLIENT_ID, name), Entity(EntityKind.USER, "u")
    scram = digests.scram(8192, b"salt", b"stored", b"server")
    log = ClusterImage(
        quotas={(client,): {"producer_byte_rate": 1.0}, (user, client): {"request_percentage": 1.0},
                (user,): {"producer_byte_rate": 1.0}},
        users={Credential(name, Mechanism.SHA_256): scram, Credential("a/b", Mechanism.SHA_256):
               scram},
    )  # fmt: skip
    assert unwritable_names(log) == (
        f"SCRAM user {name}",
        f"quotas of client-id {name}",
        f"quotas of user u with client-id {name}",
    )


def test_partitions_of_a_missing_topic_go_without_saying() -> None:
    topics = {"pay-1": image().topics["pay-1"]}
    result = compare(image(), replace(image(), topics=topics))
    assert [each.name for each in result.differences] == ["orders"]
    assert result.compared[ImageKind.PARTITIONS] == 1


@given(st.randoms(use_true_random=False))
def test_a_digest_depends_on_no_order(shuffle: random.Random) -> None:
    whole = image()
    mixed = replace(
        whole,
        topics=_mixed(whole.topics, shuffle),
        configs=_mixed(whole.configs, shuffle),
        quotas=_mixed(whole.quotas, shuffle),
    )
    assert digest(mixed) == digest(whole)
    assert digest(partition(isr=(3, 2, 1))) == digest(whole)


def _mixed(things: object, shuffle: random.Random) -> dict:  # type: ignore[type-arg]
    items = list(things.items())  # type: ignore[attr-defined]
    shuffle.shuffle(items)
    return dict(items)


def test_a_digest_is_the_same_on_each_machine() -> None:
    told = digest(image())
    assert len({*told.values()}) == len(ImageKind)
    assert told[ImageKind.QUOTAS] == digest(ClusterImage(quotas=image().quotas))[ImageKind.QUOTAS]


def test_names_with_blanks_and_dashes_stay_apart() -> None:
    quotas = {
        (Entity(EntityKind.USER, "a"), Entity(EntityKind.CLIENT_ID, "b")): {"x": 1.0},
        (Entity(EntityKind.USER, "a with client-id b"),): {"x": 2.0},
    }
    names = {each.name for each in compare(ClusterImage(), ClusterImage(quotas=quotas)).differences}
    assert names == {"user a with client-id b: x", 'user "a with client-id b": x'}


def test_a_large_cluster_is_compared_in_a_moment() -> None:
    many = {
        f"topic-{number:05}": TopicImage(
            "AAAAAAAAAAAAAAAAAAAAAg", dict.fromkeys(range(3), PARTITION)
        )
        for number in range(513)
    }
    assert compare(ClusterImage(topics=many), ClusterImage(topics=many)).equal
