"""Why the source has deleted records, and whether all their readers had read them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.support.kafka import Record, commit, consume, delete_before, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin.groups.subscriptions import subscribed
from towpath.cluster.codes import refused
from towpath.cluster.metadata import ConfigEntry, ConfigSource
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import Mode, Side, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.records.source.deletions import no_retention
from towpath.records.source.readers import Unread, judged, may_pass

T = TopicName("app-word-repartition")
TP, OTHER = TopicPartition(T, 0), TopicPartition(T, 1)
APP, AUDIT = ClientGroup("app"), ClientGroup("audit")
NOW = 1_000_000
Positions = Mapping[ClientGroup, Mapping[TopicPartition, Commit]]


@pytest.mark.parametrize(
    ("policy", "time", "size", "newest", "proof"),
    [
        ("delete", "-1", "-1", -1, "UNLIMITED"),
        ("", "1000", "1000", -1, "POLICY"),
        ("compact", "1000", "1000", -1, "POLICY"),
        ("compact,delete", "1000", "-1", -1, ""),
        ("delete", "1000", "-1", NOW - 999, "YOUNG"),
        ("delete", "1000", "-1", NOW - 1000, ""),
        ("delete", "1000", "5000", NOW, ""),
        ("delete", "-1", "5000", NOW, ""),
        ("delete", "1000", "-1", -1, ""),
        (None, "-1", "-1", NOW, ""),
    ],
)
def test_configs_tell_whether_retention_can_have_deleted_records(
    policy: str | None, time: str, size: str, newest: int, proof: str
) -> None:
    values = {"cleanup.policy": policy, "retention.ms": time, "retention.bytes": size}
    configs = {
        name: ConfigEntry(value, ConfigSource.TOPIC)
        for name, value in values.items()
        if value is not None
    }
    assert no_retention(configs, newest, NOW) == proof


@pytest.mark.parametrize(
    ("commits", "reads", "found"),
    [
        ({APP: {TP: Commit(20)}}, {}, "app"),
        ({APP: {TP: Commit(20)}, AUDIT: {TP: Commit(21)}}, {}, "app, audit"),
        ({APP: {TP: Commit(20)}, AUDIT: {}}, {AUDIT: frozenset({TopicName("other")})}, "app"),
        ({}, {}, Unread("NONE")),
        ({APP: {TP: Commit(19)}}, {}, Unread("BEHIND", "group app", 19)),
        (
            {APP: {TP: Commit(20)}, AUDIT: {TP: Commit(3)}}, {},
            Unread("BEHIND", "group audit", 3),
        ),
        (
            {APP: {TP: Commit(20)}, AUDIT: {OTHER: Commit(3)}}, {},
            Unread("UNCOMMITTED", "group audit"),
        ),
        (
            {APP: {TP: Commit(20)}, AUDIT: {}}, {AUDIT: frozenset({T})},
            Unread("UNCOMMITTED", "group audit"),
        ),
        ({APP: {TP: Commit(20)}}, {AUDIT: None}, Unread("UNKNOWN", "group audit")),
        ({APP: {TP: Commit(19)}}, {AUDIT: None}, Unread("BEHIND", "group app", 19)),
        (
            {APP: {TP: Commit(20)}}, {ClientGroup("more", GroupKind.STREAMS): None},
            "app",
        ),
        (
            {ClientGroup("s", GroupKind.SHARE): {TP: Commit(-1)}}, {},
            Unread("UNCOMMITTED", "share group s"),
        ),
    ],
)  # fmt: skip
def test_who_has_read_up_to_an_offset(
    commits: Positions,
    reads: Mapping[ClientGroup, frozenset[TopicName] | None],
    found: str | Unread,
) -> None:
    assert judged(TP, 20, commits, reads) == found


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (UnreachableError(Side.SOURCE, "asking", "no answer"), True),
        (refused(Side.SOURCE, "asking", 14), True),
        (refused(Side.SOURCE, "asking", 30), False),
        (refused(Side.SOURCE, "asking", 31), False),
        (refused(Side.SOURCE, "asking", 35), False),
    ],
    ids=lambda each: str(each)[-60:],
)
def test_a_broker_that_is_away_is_asked_again_and_a_missing_right_is_an_answer(
    error: ClusterError, passes: bool
) -> None:
    assert may_pass(error) is passes


def test_what_a_member_subscribes_to() -> None:
    names = [b"one", b"two"]
    body = struct.pack(">hi", 3, 2) + b"".join(struct.pack(">h", len(n)) + n for n in names)
    assert [*subscribed(body + b"more")] == ["one", "two"]
    with pytest.raises(struct.error):
        [*subscribed(body[:-1])]


@pytest.fixture
def purged(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("app") + "-word-repartition")
    made.create(1, {"retention.ms": "-1", "retention.bytes": "-1"})
    write(made)
    made.catch_up()
    write(made)
    return made


def write(mirror: Mirror) -> None:
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 10)


@pytest.mark.broker
def test_what_all_readers_have_read_is_passed_over(purged: Mirror) -> None:
    """Streams does so with its repartition topics; the link stopped, and blamed retention."""
    commit(purged.source.bootstrap, purged.link or purged.topic, purged.topic, 0, 20)
    delete_before(purged.source.bootstrap, purged.topic, 20)
    write(purged)
    [done] = purged.catch_up()
    assert (done.trouble, done.source_end, done.mode) == (None, 30, Mode.MAPPED)
    assert len(consume(purged.target.bootstrap, purged.topic)) == 20
    [gap] = purged.books().gaps
    assert (gap.first, gap.end, gap.went_on, gap.is_loss) == (10, 20, True, False)
    assert gap.why.code is ReasonCode.READ_AND_DELETED


@pytest.mark.broker
def test_what_a_reader_has_not_read_stops_the_partition_unless_the_file_names_it(
    purged: Mirror,
) -> None:
    address, late = purged.source.bootstrap, f"late-{purged.topic}"
    commit(address, f"app-{purged.topic}", purged.topic, 0, 20)
    commit(address, late, purged.topic, 0, 15)
    delete_before(address, purged.topic, 20)
    [stopped] = purged.catch_up()
    assert stopped.trouble is not None
    assert stopped.trouble.codes == (ReasonCode.GAP, ReasonCode.RECORDS_DELETED)
    assert f"group {late} has committed offset 15 only" in stopped.error
    assert "retention.ms=-1" in stopped.error
    purged.records = {"on_gap": "{topics: {'.*-repartition': record}}"}
    [done] = purged.catch_up()
    assert (done.trouble, done.source_end) == (None, 20)


@pytest.mark.broker
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_reader_that_has_not_committed_is_seen(purged: Mirror, protocol: str) -> None:
    address = purged.source.bootstrap
    commit(address, f"app-{purged.topic}", purged.topic, 0, 20)
    kind = {"group.protocol": protocol, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": address, "group.id": f"new-{purged.topic}", **kind})
    try:
        consumer.subscribe([purged.topic])
        wait_until(lambda: bool(consumer.poll(0.2) or consumer.assignment()), "it is a member")
        delete_before(address, purged.topic, 20)
        [stopped] = purged.catch_up()
    finally:
        consumer.close()
    assert "reads the topic and has committed no offset" in stopped.error
