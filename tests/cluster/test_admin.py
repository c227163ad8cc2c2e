from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import DESCRIBE, LITERAL, TOPIC, allow
from tests.support.kafka import Record, create_topic, produce, wait_until
from towpath.cluster.admin import Admin, leaders
from towpath.cluster.connect import control
from towpath.cluster.connect.login import SecurityError
from towpath.cluster.metadata import ConfigSource, non_default
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker

Names = Callable[[str], str]


def config(*bootstrap: str, timeout: str = "10s", **options: Any) -> ClusterConfig:
    return ClusterConfig(bootstrap=bootstrap, request_timeout=timeout, **options)


@pytest.fixture
def admin(target: LocalCluster) -> Iterator[Admin]:
    with Admin(config(*target.addresses, timeout="40s"), Side.TARGET) as made:
        yield made


@pytest.fixture
def topic(admin: Admin, new_name: Names) -> TopicName:
    name = TopicName(new_name("admin"))
    admin.topics.create(name, 3, 1, {"flush.ms": "100000000"})
    return name


def parts(topic: TopicName, count: int = 3) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def test_a_cluster_tells_its_id_and_brokers(version_target: LocalCluster) -> None:
    with Admin(config(*version_target.addresses), Side.TARGET) as admin:
        assert admin.cluster.id() == version_target.cluster_id
        assert [broker.id for broker in admin.cluster.brokers()] == [1]
        assert str(admin.cluster.release) == ".".join(version_target.version.split(".")[:2])
        assert admin.cluster.api_versions()[0][1] >= 9


def test_nothing_is_opened_before_the_first_call() -> None:
    Admin(config("no-such-host.invalid:9092"), Side.SOURCE).close()


def test_topics_tell_ids_and_leaders(admin: Admin, topic: TopicName) -> None:
    found = admin.topics.describe([topic, TopicName("missing")])
    assert set(found) == {topic}
    info = found[topic]
    assert (info.name, info.internal, info.error) == (topic, False, None)
    assert info.id != NO_TOPIC_ID
    assert [(p.partition, p.leader, p.replicas) for p in info.partitions] == [
        (number, 1, (1,)) for number in range(3)
    ]
    assert info == admin.topics.describe()[topic]
    assert admin.topics.describe([]) == {}


def test_partitions_are_assigned_to_the_replicas_that_they_have(
    admin: Admin, topic: TopicName
) -> None:
    missing = TopicPartition(TopicName("missing"), 0)
    there, before = parts(topic, 2), admin.topics.describe([topic])[topic]
    told = admin.replicas.assign(dict.fromkeys((*there, missing), (1,)))
    assert (set(told), set(told.failed)) == (set(there), {missing})
    assert admin.topics.describe([topic])[topic].partitions[0].replicas == (1,)
    assert admin.topics.describe([topic])[topic].id == before.id


def test_configs_tell_their_source(admin: Admin, topic: TopicName) -> None:
    entries = admin.configs.describe([topic])[topic]
    assert entries["flush.ms"].source is ConfigSource.TOPIC
    assert entries["segment.ms"].source is ConfigSource.DEFAULT
    assert non_default(entries) == {"flush.ms": "100000000"}
    admin.configs.change(topic, {"flush.ms": None, "segment.bytes": "2000000"})
    wait_until(
        lambda: non_default(admin.configs.describe([topic])[topic]) == {"segment.bytes": "2000000"},
        "the configs changed",
    )
    assert admin.cluster.broker_config("message.max.bytes") == "1048588"
    assert admin.cluster.broker_config("no.such.config") is None
    several = ["message.max.bytes", "no.such.config", "num.partitions"]
    asked = admin.cluster.broker_configs(several)
    assert asked == {"message.max.bytes": "1048588", "num.partitions": "1"}


def test_configs_of_a_missing_topic_fail_alone(admin: Admin, topic: TopicName) -> None:
    found = admin.configs.describe([topic, TopicName("missing")])
    assert set(found) == {topic}
    assert "configs of topic missing: UNKNOWN_TOPIC_OR_PARTITION" in str(
        found.failed[TopicName("missing")]
    )
    alone = admin.configs.describe([TopicName("missing")])
    assert (alone, alone.failed.keys()) == ({}, found.failed.keys())
    with pytest.raises(RefusedError, match="configs of topic missing"):
        alone.sure(TopicName("missing"))
    assert found.sure(topic) == found[topic]


def test_offsets_are_told_by_time_and_moved_by_deletion(
    admin: Admin, target: LocalCluster, topic: TopicName
) -> None:
    records = [Record(b"k", b"v", timestamp=1000 * n, partition=1) for n in range(1, 11)]
    produce(target.bootstrap, topic, records)
    zero, one, two = parts(topic)
    assert admin.offsets.earliest(parts(topic)) == {zero: 0, one: 0, two: 0}
    assert admin.offsets.latest(parts(topic)) == {zero: 0, one: 10, two: 0}
    assert admin.offsets.at_time([one], 3500) == {one: 3}
    assert admin.offsets.at_time([zero, one], 99_000) == {zero: 0, one: 10}
    assert admin.offsets.delete_records({one: 4, zero: 0}) == {zero: 0, one: 4}
    assert admin.offsets.earliest([one]) == {one: 4}
    with pytest.raises(RefusedError, match=rf"deleting records of {topic}-1: OFFSET_OUT_OF_RANGE"):
        admin.offsets.delete_records({one: 400})


def test_the_log_end_is_asked_of_the_present_leader(
    version_target: LocalCluster, new_name: Names
) -> None:
    name = TopicName(new_name("ends"))
    with Admin(config(*version_target.addresses), Side.TARGET) as admin:
        admin.topics.create(name, 2, 1, {})
        produce(version_target.bootstrap, name, [Record(b"k", b"v", partition=1)] * 3)
        assert admin.offsets.log_ends(parts(name, 2)) == {parts(name)[0]: 0, parts(name)[1]: 3}
        missing = TopicPartition(name, 7)
        found = admin.offsets.log_ends([parts(name)[1], missing], patience=1.0)
        assert (dict(found), set(found.failed)) == ({parts(name)[1]: 3}, {missing})


def test_an_open_transaction_holds_the_committed_end(
    admin: Admin, target: LocalCluster, topic: TopicName
) -> None:
    (zero, *_) = parts(topic)
    configs = {"bootstrap.servers": target.bootstrap, "transactional.id": topic}
    producer = Producer(configs)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(30)
    assert admin.offsets.latest([zero]) == {zero: 1}
    assert admin.offsets.latest([zero], committed=True) == {zero: 0}
    assert list(admin.producers.sequences([zero])[zero].values()) == [0]
    producer.abort_transaction(30)
    wait_until(
        lambda: admin.offsets.latest([zero], committed=True) == {zero: 2}, "the marker is there"
    )


def test_many_partitions_need_few_requests(admin: Admin, new_name: Names) -> None:
    name = TopicName(new_name("wide"))
    admin.topics.create(name, 200, 1, {})
    assert admin.offsets.latest(parts(name, 200)) == dict.fromkeys(parts(name, 200), 0)
    assert set(admin.producers.sequences(parts(name, 200))) == set(parts(name, 200))


def test_partitions_that_do_not_exist_fail_alone(
    admin: Admin, topic: TopicName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaders, "UNKNOWN_PATIENCE", 0.2)
    zero, nine = TopicPartition(topic, 0), TopicPartition(topic, 9)
    found = admin.offsets.latest([zero, nine])
    assert found == {zero: 0}
    assert f"asking for offsets of {topic}-9: UNKNOWN_TOPIC_OR_PARTITION (3)" in str(
        found.failed[nine]
    )
    with pytest.raises(RefusedError, match=f"asking for offsets of {topic}-9"):
        admin.offsets.latest([nine])
    assert admin.offsets.latest([]) == {}


def test_offsets_of_a_group(admin: Admin, target: LocalCluster, topic: TopicName) -> None:
    group = f"{topic}-group"
    other = AdminClient({"bootstrap.servers": target.bootstrap})

    def commit() -> bool:
        offsets = ConsumerGroupTopicPartitions(group, [Position(topic, 1, 7)])
        (future,) = other.alter_consumer_group_offsets([offsets]).values()
        return not any(position.error for position in future.result(30).topic_partitions)

    wait_until(commit, "the offset is committed")
    assert admin.groups.committed(group, parts(topic)) == {TopicPartition(topic, 1): 7}
    assert admin.groups.committed("nobody", parts(topic)) == {}


def test_a_topic_grows_and_never_shrinks(admin: Admin, topic: TopicName) -> None:
    admin.topics.grow(topic, 5)
    assert len(admin.topics.describe([topic])[topic].partitions) == 5
    with pytest.raises(
        RefusedError,
        match=r"growing topic .* to 2 partitions: INVALID_PARTITIONS \(37\); The topic",
    ):
        admin.topics.grow(topic, 2)


def test_validating_creates_nothing(admin: Admin, new_name: Names) -> None:
    name = TopicName(new_name("validated"))
    admin.topics.create(name, 1, 1, {"cleanup.policy": "compact"}, validate_only=True)
    assert admin.topics.describe([name]) == {}


@pytest.mark.parametrize(
    ("replicas", "configs", "words"),
    [
        (3, {}, "and replication factor 3: INVALID_REPLICATION_FACTOR (38)"),
        (1, {"x": "y"}, "INVALID_CONFIG (40); Unknown topic config name: x; set"),
    ],
)
def test_a_topic_that_cannot_be(
    admin: Admin, new_name: Names, replicas: int, configs: dict[str, str], words: str
) -> None:
    name = TopicName(new_name("bad"))
    with pytest.raises(RefusedError) as caught:
        admin.topics.create(name, 2, replicas, configs)
    assert f"target: creating topic {name} with 2 partitions" in str(caught.value)
    assert words in str(caught.value)


def test_a_topic_that_is_there(admin: Admin, topic: TopicName) -> None:
    with pytest.raises(RefusedError, match=r"TOPIC_ALREADY_EXISTS \(36\)"):
        admin.topics.create(topic, 3, 1, {})


def test_threads_share_it(admin: Admin, topic: TopicName) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: admin.offsets.latest(parts(topic)), range(64)))
    assert found == [dict.fromkeys(parts(topic), 0)] * 64


def test_bad_bootstrap_brokers_are_passed_over(target: LocalCluster) -> None:
    (closed,) = ports.reserve(1)
    bootstrap = ("no-such-host.invalid:9092", f"127.0.0.1:{closed}", *target.addresses)
    with Admin(config(*bootstrap), Side.TARGET) as admin:
        assert admin.cluster.id() == target.cluster_id


def test_a_cluster_that_was_never_reached_is_given_up_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control, "_FIRST_CONTACT", 1.0)
    (closed,) = ports.reserve(1)
    bootstrap = ("no-such-host.invalid:9092", f"127.0.0.1:{closed}")
    began = time.monotonic()
    with (
        Admin(config(*bootstrap, timeout="60s"), Side.SOURCE) as admin,
        pytest.raises(UnreachableError) as caught,
    ):
        admin.cluster.id()
    assert time.monotonic() - began < 40, "request_timeout is 60 s"
    assert str(caught.value) == (
        f"source: asking no-such-host.invalid:9092, 127.0.0.1:{closed}: no broker answered"
        " (no-such-host.invalid:9092: the name no-such-host.invalid does not resolve;"
        f" 127.0.0.1:{closed}: nothing listens there); check `bootstrap`, and whether the brokers"
        " run and the network to them is open"
    )


def secured(cluster: LocalCluster, vault: Vault, user: str) -> Admin:
    sasl = {"mechanism": "SCRAM-SHA-512", "username": user, "password": USERS[user]}
    tls = {"ca": str(vault.ca)}
    return Admin(config(*cluster.addresses, tls=tls, sasl=sasl), Side.SOURCE)


def test_trouble_with_security_is_told_at_once(secured_source: LocalCluster) -> None:
    began = time.monotonic()
    with (
        Admin(config(*secured_source.addresses, timeout="120s", tls=True), Side.SOURCE) as admin,
        pytest.raises(SecurityError, match="signed by none of the system's authorities"),
    ):
        admin.cluster.id()
    assert time.monotonic() - began < 60, "request_timeout is 120 s"


def test_a_missing_acl_is_named(
    secured_source: LocalCluster, vault: Vault, new_name: Names
) -> None:
    name = TopicName(create_topic(secured_source.back_door, new_name("acl")))
    other = TopicName(new_name("acl-new"))
    tp = TopicPartition(name, 0)
    with secured(secured_source, vault, "admin") as admin:
        assert admin.offsets.latest([tp]) == {tp: 0}
    with secured(secured_source, vault, "nobody") as nobody:
        assert name not in nobody.topics.describe()
        assert f"the login needs the ACL Describe on topic {name}" in str(
            nobody.topics.describe([name])[name].error
        )
        refusals: dict[str, Callable[[], object]] = {
            f"Describe on topic {name}": lambda: nobody.offsets.latest([tp]),
            f"DescribeConfigs on topic {name}": lambda: nobody.configs.describe([name]).sure(name),
            f"AlterConfigs on topic {name}": lambda: nobody.configs.change(
                name, {"segment.ms": "9"}
            ),
            f"Create on topic {other} or on the cluster": lambda: nobody.topics.create(
                other, 1, 1, {}
            ),
            "DescribeConfigs on the cluster": lambda: nobody.cluster.broker_config(
                "message.max.bytes"
            ),
            "Describe on group g": lambda: nobody.groups.committed("g", [tp]),
        }
        for acl, call in refusals.items():
            with pytest.raises(RefusedError) as caught:
                call()
            assert f"the login needs the ACL {acl}" in str(caught.value)


def test_an_acl_for_one_topic_opens_no_other(
    secured_source: LocalCluster, vault: Vault, new_name: Names
) -> None:
    open_, shut = (
        TopicName(create_topic(secured_source.back_door, new_name("acl"))) for _ in range(2)
    )
    allow(secured_source, TOPIC, open_, [DESCRIBE], pattern=LITERAL)
    with secured(secured_source, vault, "mirror") as mirror:
        wait_until(lambda: open_ in mirror.topics.describe(), "the rule holds")
        found = mirror.offsets.latest([TopicPartition(open_, 0), TopicPartition(shut, 0)])
        assert found == {TopicPartition(open_, 0): 0}
        assert f"Describe on topic {shut}" in str(found.failed[TopicPartition(shut, 0)])
        with pytest.raises(RefusedError, match=f"the login needs the ACL Read on topic {open_}"):
            mirror.producers.sequences([TopicPartition(open_, 0)])


def test_brokers_go_and_come_back(three: LocalCluster, new_name: Names) -> None:
    name = TopicName(new_name("moving"))
    with Admin(config(*three.addresses, timeout="40s"), Side.TARGET) as admin:
        admin.topics.create(name, 6, 3, {})
        tps = parts(name, 6)
        assert {p.leader for p in admin.topics.describe([name])[name].partitions} == {1, 2, 3}
        assert set(admin.producers.sequences(tps)) == set(tps)
        three.kill9(2)
        try:
            assert admin.offsets.latest(tps) == dict.fromkeys(tps, 0)
            assert set(admin.producers.sequences(tps)) == set(tps)
            admin.configs.change(name, {"segment.ms": "99999"})
        finally:
            three.restart(2)
        wait_until(lambda: len(admin.cluster.brokers()) == 3, "all brokers are back")
        assert admin.offsets.latest(tps) == dict.fromkeys(tps, 0)


def test_a_silent_broker_does_not_silence_the_others(three: LocalCluster, new_name: Names) -> None:
    name = TopicName(new_name("frozen"))
    tps = parts(name, 6)
    # A third of it is for the silent one; others lead what it led after four seconds.
    with Admin(config(*three.addresses, timeout="20s"), Side.TARGET) as admin:
        admin.topics.create(name, 6, 3, {})
        assert len({p.leader for p in admin.topics.describe([name])[name].partitions}) == 3
        assert admin.offsets.latest(tps) == dict.fromkeys(tps, 0)
        three.pause(2)
        try:
            assert admin.offsets.latest(tps) == dict.fromkeys(tps, 0)
        finally:
            three.resume(2)
        wait_until(lambda: len(admin.cluster.brokers()) == 3, "all brokers are back")


def test_a_broker_that_restarts_is_waited_for(lone: LocalCluster, new_name: Names) -> None:
    name = TopicName(new_name("restarted"))
    with Admin(config(*lone.addresses, timeout="40s"), Side.TARGET) as admin:
        admin.topics.create(name, 3, 1, {})
        assert admin.offsets.latest(parts(name)) == dict.fromkeys(parts(name), 0)
        lone.stop_broker(1)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: admin.offsets.latest(parts(name)))
            lone.restart(1)
            assert waiting.result(30) == dict.fromkeys(parts(name), 0)
