"""Checkpoints, offset syncs and heartbeats of ours, as Java clients read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.mirror_maker import translated_by_java
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    end_offsets,
    produce,
    topic_config,
    wait_until,
)
from tests.support.ledger.books import opened, receipt
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.groups.loop import GroupLoop
from towpath.groups.model import GroupPosition, GroupReport, SyncReport
from towpath.ledger.books import LinkBooks
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.mirror.mm2.publish import EXACTNESS, Publisher, offset_syncs, wanted_records
from towpath.mirror.mm2.publish import publishing as publishing_beside
from towpath.mirror.mm2.records import Checkpoint, Heartbeat, OffsetSync
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import (
    LinkName,
    Side,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.settings import ClusterConfig, GroupsConfig, Mm2Config, Mm2Topic

ORDERS = TopicPartition(TopicName("orders"), 0)


def position(
    group: str,
    target: int,
    exactness: Exactness = Exactness.EXACT,
    kind: GroupKind = GroupKind.CONSUMER,
) -> GroupPosition:
    return GroupPosition(
        group=ClientGroup(group, kind),
        mirror_group=f"new-{group}",
        tp=ORDERS,
        mirror=TopicPartition(TopicName("us.orders"), 0),
        source=SourceOffset(target + 7),
        metadata="told",
        answer=TranslatedOffset(TargetOffset(target), exactness),
    )


def report(*positions: GroupPosition) -> SyncReport:
    groups = tuple(
        GroupReport(
            group=each.group,
            mirror_group=each.mirror_group,
            source_state="",
            target_state="",
            at=1,
            positions=(each,),
        )
        for each in positions
    )
    return SyncReport(at=1, groups=groups)


def books(end: int) -> LinkBooks:
    made = LinkBooks(LinkName("l"))
    made.take(opened(ORDERS))
    if end:
        made.take(receipt(ORDERS, run=(SourceOffset(7), TargetOffset(0), end)))
    return made


def mm2(alias: str, *topics: Mm2Topic) -> Mm2Config:
    wanted = topics or tuple(Mm2Topic)
    return Mm2Config(alias="eu", source_alias=alias, topics=wanted)


def test_a_checkpoint_never_skips_what_another_tool_may_have_mirrored() -> None:
    every = [position(str(kind), 5, kind) for kind in Exactness]
    share = position("share", 5, kind=GroupKind.SHARE)
    config = mm2("us", Mm2Topic.CHECKPOINTS)
    [(topic, found)] = wanted_records(config, report(*every, share), books(0), 1).items()
    assert topic == "us.checkpoints.internal"
    points = [each for each, _ in found.values() if isinstance(each, Checkpoint)]
    assert {each.group for each in points} == set(map(str, Exactness)) - {Exactness.BEFORE_START}


def test_an_offset_sync_is_the_last_record_that_was_mirrored() -> None:
    assert list(offset_syncs(books(0))) == []
    [sync] = offset_syncs(books(100))
    assert sync == OffsetSync(tp=ORDERS, source=SourceOffset(106), target=TargetOffset(99))


@pytest.fixture
def publishing(target: LocalCluster) -> Iterator[Callable[[Mm2Config], Publisher]]:
    config = ClusterConfig(bootstrap=target.addresses)
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
        yield lambda wanted: Publisher(wanted, admin, client)


@pytest.mark.broker
def test_java_clients_translate_by_what_is_published_and_only_news_are_written(
    target: LocalCluster,
    publishing: Callable[[Mm2Config], Publisher],
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    alias = new_name("us")
    checkpoints, syncs = f"{alias}.checkpoints.internal", f"mm2-offset-syncs.{alias}.internal"
    beats = f"{alias}.heartbeats"
    publisher = publishing(mm2(alias))
    first = publisher.publish(report(position("shop", 5), position("late", 9)), books(10))
    assert first.records == {checkpoints: 2, syncs: 1, "heartbeats": 1, beats: 1}
    assert (first.others, list(first.notes)) == ((), [])
    assert topic_config(target.bootstrap, checkpoints, "cleanup.policy") == "compact"
    again = publisher.publish(report(position("shop", 5), position("late", 12)), books(10))
    assert again.records == {checkpoints: 1, syncs: 0, "heartbeats": 1, beats: 1}
    # A new process knows what the topics hold.
    later = publishing(mm2(alias)).publish(report(position("shop", 5)), books(11))
    assert later.records == {checkpoints: 0, syncs: 1, "heartbeats": 1, beats: 1}

    records = consume(target.bootstrap, checkpoints)
    assert all(record.value for record in records)
    assert records[-1].headers == ((EXACTNESS.decode(), b"exact"),)
    [beat] = {record.key: record for record in consume(target.bootstrap, beats)}.values()
    told = Heartbeat.read(beat.key or b"", beat.value or b"")
    assert (told.source, told.target) == ("eu", alias)
    java = translated_by_java(
        tmp_path, {"bootstrap.servers": target.bootstrap}, alias, ["shop", "late"]
    )
    assert java == ["hops 1", "shop us.orders-0 5 told", "late us.orders-0 12 told"]


@pytest.mark.broker
def test_another_program_that_writes_the_same_topics_is_named(
    target: LocalCluster,
    publishing: Callable[[Mm2Config], Publisher],
    new_name: Callable[[str], str],
) -> None:
    alias = new_name("us")
    topic = create_topic(target.bootstrap, f"{alias}.checkpoints.internal")
    produce(target.bootstrap, topic, [Record(b"k", None)])  # before us
    publisher = publishing(mm2(alias, Mm2Topic.CHECKPOINTS))
    assert publisher.publish(report(position("shop", 5)), books(0)).others == ()
    assert publisher.publish(report(position("shop", 6)), books(0)).others == ()
    theirs = position("shop", 3)
    assert theirs.mirror is not None
    old = Checkpoint(group="shop", tp=theirs.mirror, source=SourceOffset(9), target=TargetOffset(3))
    produce(target.bootstrap, topic, [Record(old.key, old.value)])
    found = publisher.publish(report(position("shop", 6)), books(0))
    assert found.records == {topic: 1}  # ours holds again
    assert f"another program writes to {topic}" in next(found.notes)


@pytest.mark.broker
def test_a_run_publishes_beside_its_syncs(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
) -> None:
    name, alias = TopicName(new_name("published")), new_name("us")
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 20)
    mirror.catch_up()
    group = f"{name}-g"
    commit(source.bootstrap, group, name, 0, 3)
    groups = GroupsConfig(include=(f"{name}-.*",), mm2=mm2(alias))
    config = mirror.config.model_copy(update={"groups": groups})
    checkpoints, syncs = f"{alias}.checkpoints.internal", f"mm2-offset-syncs.{alias}.internal"
    loop = GroupLoop(config, lambda _: None, interval=0.1, beside=publishing_beside)
    loop.start()
    try:
        there = AdminClient({"bootstrap.servers": target.bootstrap})
        both = {checkpoints, syncs}
        wait_until(lambda: both <= there.list_topics().topics.keys(), "the topics are made")
        wait_until(lambda: end_offsets(target.bootstrap, syncs)[1] > 0, "all was written")
        commit(source.bootstrap, group, name, 0, 20)
        loop.finish()
    finally:
        loop.close()
    assert loop.troubles == ()
    found = [
        Checkpoint.read(r.key or b"", r.value or b"")
        for r in consume(target.bootstrap, checkpoints)
    ]
    assert [(each.group, each.source, each.target) for each in found] == [
        (group, 3, 3),
        (group, 20, 20),
    ]
    [sync] = [
        OffsetSync.read(r.key or b"", r.value or b"") for r in consume(target.bootstrap, syncs)
    ]
    assert (sync.tp.topic, sync.source, sync.target) == (name, 19, 19)
