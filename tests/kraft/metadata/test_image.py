"""What records say together."""

from __future__ import annotations

import uuid

import pytest

from tests.support.kraft.metadata_log import batch, control, said, seen_of, value
from towpath.kraft.facts import digests
from towpath.kraft.facts.image import ConfigOf, PartitionImage, Token, TopicImage
from towpath.kraft.facts.nouns import LogState, NodeId
from towpath.kraft.facts.seen import BrokerRegistration, CopiedRange
from towpath.kraft.metadata.messages import KRaftVersionRecord, VotersRecord
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Credential, Mechanism

TOPIC = uuid.UUID(int=77)
ID = digests.topic_id(TOPIC)
CREATED = (
    value("TopicRecord", name="orders", topic_id=TOPIC),
    value(
        "PartitionRecord",
        1,
        partition_id=0,
        topic_id=TOPIC,
        replicas=[1, 2],
        isr=[1, 2],
        removing_replicas=[],
        adding_replicas=[],
        leader=1,
        leader_epoch=4,
        partition_epoch=9,
        directories=[],
    ),
)


def test_a_partition_changes_as_kafka_changes_it() -> None:
    isr = value("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, isr=[2], leader=2)
    move = value(
        "PartitionChangeRecord",
        1,
        partition_id=0,
        topic_id=TOPIC,
        replicas=[2, 3, 1],
        adding_replicas=[3],
        removing_replicas=[1],
    )
    seen = said(*CREATED, isr, move)
    assert seen.image.topics == {
        "orders": TopicImage(
            ID,
            {
                0: PartitionImage(
                    replicas=(2, 3, 1),
                    adding=(3,),
                    removing=(1,),
                    isr=(2,),
                    leader=2,
                    leader_epoch=5,
                    partition_epoch=11,
                )
            },
        )
    }
    assert not seen.unread


def test_the_same_leader_again_is_a_new_epoch() -> None:
    again = value("PartitionChangeRecord", partition_id=0, topic_id=TOPIC, leader=1)
    (partition,) = said(*CREATED, again).image.topics["orders"].partitions.values()
    assert (partition.leader, partition.leader_epoch) == (1, 5)


def test_a_removed_topic_takes_its_configs_along() -> None:
    config = {"resource_type": 2, "resource_name": "orders", "name": "retention.ms"}
    set_, gone = (
        value("ConfigRecord", value="7", **config),
        value("RemoveTopicRecord", topic_id=TOPIC),
    )
    assert said(*CREATED, set_).image.configs == {(ConfigOf.TOPIC, "orders"): {"retention.ms": "7"}}
    after = said(*CREATED, set_, gone)
    assert (after.image.topics, after.image.configs, after.unread) == ({}, {}, {})


def test_configs_are_set_and_removed_and_secret_ones_digested() -> None:
    def config(name: str, text: str | None, whose: str = "") -> bytes:
        of = {"resource_type": 4, "resource_name": whose}
        return value("ConfigRecord", name=name, value=text, **of)

    seen = said(
        config("log.cleaner.threads", "2"),
        config("log.cleaner.threads", None),
        config("ssl.key.password", "hunter2", "1"),
    )
    digest = digests.digest(b"hunter2")
    assert seen.image.configs == {(ConfigOf.BROKER, "1"): {"ssl.key.password": digest}}
    assert "hunter2" not in repr(seen)


def test_acls_come_and_go_by_their_id() -> None:
    one, two = uuid.UUID(int=1), uuid.UUID(int=2)
    rule = {"resource_type": 2, "resource_name": "a", "pattern_type": 4, "principal": "User:x"}
    rule |= {"host": "*", "operation": 3, "permission_type": 2}
    acl = Acl(
        resource=Resource.TOPIC,
        name="a",
        pattern=Pattern.PREFIXED,
        principal="User:x",
        host="*",
        operation=Operation.READ,
        permission=Permission.DENY,
    )
    twice = [value("AccessControlEntryRecord", id=each, **rule) for each in (one, two)]
    removed = value("RemoveAccessControlEntryRecord", id=one)
    assert said(*twice).image.acls == said(*twice, removed).image.acls == {acl}
    assert not said(*twice, removed, value("RemoveAccessControlEntryRecord", id=two)).image.acls


def test_users_quotas_tokens_and_producer_ids() -> None:
    keys = {"salt": b"salt", "stored_key": b"stored", "server_key": b"server"}
    user = value("UserScramCredentialRecord", name="u", mechanism=2, iterations=4096, **keys)
    entities = [
        {"entity_type": "client-id", "entity_name": None},
        {"entity_type": "user", "entity_name": "u"},
    ]
    quota = {"entity": entities, "key": "producer_byte_rate"}
    named = {"token_id": "t"}
    token = value(
        "DelegationTokenRecord",
        owner="User:o",
        requester="User:r",
        renewers=["User:b", "User:a"],
        issue_timestamp=1,
        expiration_timestamp=2,
        max_timestamp=3,
        **named,
    )
    ids = value("ProducerIdsRecord", broker_id=1, broker_epoch=2, next_producer_id=3000)
    records = (user, value("ClientQuotaRecord", value=1e6, remove=False, **quota), token, ids)
    image = said(*records).image
    credential = Credential("u", Mechanism.SHA_512)
    assert image.users == {credential: digests.scram(4096, b"salt", b"stored", b"server")}
    whose = Entity(EntityKind.USER, "u"), Entity(EntityKind.CLIENT_ID, None)
    assert image.quotas == {whose: {"producer_byte_rate": 1e6}}
    assert image.tokens == {"t": Token("User:o", "User:r", ("User:a", "User:b"), 1, 2, 3)}
    assert image.producer_ids == 3000
    gone = said(
        *records,
        value("RemoveUserScramCredentialRecord", name="u", mechanism=2),
        value("ClientQuotaRecord", value=0.0, remove=True, **quota),
        value("RemoveDelegationTokenRecord", **named),
    ).image
    assert (gone.users, gone.quotas, gone.tokens) == ({}, {}, {})


def test_brokers_register_in_migration_mode_then_as_kraft_brokers() -> None:
    def register(version: int, epoch: int, **fields: object) -> bytes:
        common = {"broker_id": 1, "incarnation_id": TOPIC, "end_points": [], "features": []}
        return value(
            "RegisterBrokerRecord",
            version,
            broker_epoch=epoch,
            rack=None,
            fenced=True,
            **common,
            **fields,
        )

    def change(epoch: int, version: int = 1, **fields: object) -> bytes:
        kind, at = "BrokerRegistrationChangeRecord", {"broker_id": 1, "broker_epoch": epoch}
        return value(kind, version, **at, **fields)

    migrating = register(2, 5, is_migrating_zk_broker=True, in_controlled_shutdown=False)
    node = NodeId(1)
    assert said(migrating, change(5, fenced=-1)).brokers == {
        node: BrokerRegistration(id=node, epoch=5, migrating=True, fenced=False)
    }
    stopping = said(migrating, change(5, in_controlled_shutdown=1), change(5, fenced=1))
    assert stopping.brokers[node].shutting_down
    assert stopping.brokers[node].fenced
    kraft = register(3, 9, is_migrating_zk_broker=False, in_controlled_shutdown=False)
    late = said(migrating, kraft, change(5, fenced=-1))
    assert late.brokers == {
        node: BrokerRegistration(id=node, epoch=9, migrating=False, fenced=True)
    }
    assert late.unread == {"BrokerRegistrationChangeRecord of an unknown broker or epoch": 1}
    cordoned = register(4, 9, is_migrating_zk_broker=False, cordoned_log_dirs=[TOPIC])
    newest = said(cordoned, change(9, 3, fenced=-1, cordoned_log_dirs=[]))
    assert (newest.brokers[node].fenced, newest.unread) == (False, {})
    old = value("UnfenceBrokerRecord", id=1, epoch=9)
    assert not said(kraft, old).brokers[node].fenced
    gone = value("UnregisterBrokerRecord", broker_id=1, broker_epoch=9)
    assert said(kraft, gone).brokers == {}


def test_controllers_tell_the_flag_and_features_their_levels() -> None:
    def controller(flag: bool) -> bytes:
        return value(
            "RegisterControllerRecord",
            controller_id=3000,
            incarnation_id=TOPIC,
            zk_migration_ready=flag,
            end_points=[],
            features=[],
        )

    def level(number: int) -> bytes:
        return value("FeatureLevelRecord", name="metadata.version", feature_level=number)

    seen = said(controller(True), level(20), controller(False), level(21))
    assert (seen.ready, seen.features) == ({3000: False}, {"metadata.version": 21})
    gone = value("UnregisterControllerRecord", controller_id=3000)
    assert said(controller(True), gone).ready == {}
    assert said(level(21), level(0)).features == {}


def test_a_dynamic_quorum_names_its_voters_in_the_log() -> None:
    version = KRaftVersionRecord(version=0, k_raft_version=1).encode(header=False)
    voter = {"voter_directory_id": TOPIC, "endpoints": []}
    voter |= {"k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1}}
    voters = VotersRecord(
        version=0, voters=[{"voter_id": 3001} | voter, {"voter_id": 3000} | voter]
    ).encode(header=False)
    seen = seen_of(control(5, version) + control(6, voters, base=1))
    assert (seen.voters, seen.features) == ((3000, 3001), {"kraft.version": 1})
    assert said(*CREATED).voters is None


STATE = {state: value("ZkMigrationStateRecord", zk_migration_state=state) for state in LogState}
BEGIN = value("BeginTransactionRecord", name="ZK Migration")
END, ABORT = value("EndTransactionRecord"), value("AbortTransactionRecord", reason="failover")


def test_records_of_an_open_transaction_are_not_true_yet() -> None:
    bootstrap = batch([STATE[LogState.PRE_MIGRATION]])
    opened = bootstrap + batch([BEGIN, *CREATED, STATE[LogState.MIGRATION]], base=1)
    seen = seen_of(opened)
    assert (seen.copying, seen.copied, seen.state) == (True, None, LogState.PRE_MIGRATION)
    assert seen.image.topics == {}
    done = seen_of(opened + batch([END], base=5, epoch=2))
    assert (done.copying, done.state) == (False, LogState.MIGRATION)
    assert done.copied == CopiedRange(begin=1, state=4, end=5)
    assert list(done.image.topics) == ["orders"]


def test_records_of_an_aborted_transaction_are_never_true() -> None:
    seen = said(BEGIN, *CREATED, STATE[LogState.MIGRATION], ABORT, STATE[LogState.PRE_MIGRATION])
    assert (seen.copying, seen.copied, seen.state) == (False, None, LogState.PRE_MIGRATION)
    assert seen.image.topics == {}
    assert said(BEGIN, *CREATED, ABORT, BEGIN, *CREATED, END).image.topics


def test_a_transaction_of_another_name_is_no_copy() -> None:
    other = value("BeginTransactionRecord", name="Bootstrap records")
    seen = said(other, STATE[LogState.PRE_MIGRATION], END)
    assert (seen.copying, seen.copied, seen.state) == (False, None, LogState.PRE_MIGRATION)
    assert not said(other).copying


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (b"\x01\x1e\x00\x00", "record 30 in version 0"),
        (value("ZkMigrationStateRecord", zk_migration_state=9), "ZkMigrationState 9"),
        (
            value("ConfigRecord", resource_type=8, resource_name="x", name="a", value="b"),
            "ConfigRecord of resource type 8",
        ),
        (
            value("RemoveTopicRecord", topic_id=uuid.UUID(int=5)),
            "RemoveTopicRecord of an unknown topic",
        ),
        (
            value("PartitionChangeRecord", partition_id=3, topic_id=uuid.UUID(int=5)),
            "PartitionChangeRecord of an unknown partition",
        ),
    ],
)
def test_what_has_no_place_is_counted_and_named(record: bytes, name: str) -> None:
    assert said(record, record).unread == {name: 2}


def test_configs_that_zookeeper_does_not_have_are_named_while_they_are_there() -> None:
    of = {"resource_type": 16, "resource_name": "traces", "name": "interval.ms"}
    made = value("ConfigRecord", **of, value="100")
    group = {"resource_type": 32, "resource_name": "g", "name": "consumer.session.timeout.ms"}
    seen = said(made, value("ConfigRecord", **group, value="9"))
    assert seen.kraft_only == ("client-metrics traces", "group g")
    assert seen.unread == {}
    assert said(made, value("ConfigRecord", **of, value=None)).kraft_only == ()


def test_users_that_the_log_deletes_are_named_until_they_are_there_again() -> None:
    removed = value("RemoveUserScramCredentialRecord", name="bob", mechanism=1)
    secrets = dict.fromkeys(("salt", "stored_key", "server_key"), b"x")
    made = value("UserScramCredentialRecord", name="bob", mechanism=1, iterations=4096, **secrets)
    assert said(made).deleted_users == ()
    assert said(made, removed).deleted_users == ("bob (SCRAM-SHA-256)",)
    assert said(made, removed, made).deleted_users == ()


def test_acls_that_zookeeper_cannot_hold_are_named() -> None:
    rule = {"resource_type": 2, "pattern_type": 3, "principal": "User:x", "host": "*"}
    rule |= {"operation": 3, "permission_type": 3}
    ids = iter(range(1, 9))
    acls = [
        value("AccessControlEntryRecord", id=uuid.UUID(int=next(ids)), resource_name=name, **rule)
        for name in ("a/b", "a", "a/b")
    ]
    assert said(*acls).unwritable == ("a/b",)
