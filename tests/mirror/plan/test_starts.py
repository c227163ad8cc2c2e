"""Where copying begins: `start: latest` counts from the first run on; nobody waits for a leader."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.here import Here
from tests.support.kafka import Record, create_topic, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import EndOffsets, FirstLook
from towpath.mirror.plan.link_plan import build
from towpath.mirror.plan.starts import beginnings, from_earliest, looks_first
from towpath.model.nouns import LinkName, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.records.work import EARLIEST, UNKNOWN, Beginning
from towpath.settings import RecordsConfig

LINK, ORDERS = LinkName("l"), TopicName("orders")
LATEST = RecordsConfig(start="latest")


def tp(partition: int) -> TopicPartition:
    return TopicPartition(ORDERS, partition)


def test_what_was_there_at_the_first_look_begins_where_it_ended_then() -> None:
    books = LinkBooks(LINK)
    assert looks_first(LATEST, books)
    books.take(
        EndOffsets(
            link=LINK,
            topic=ORDERS,
            topic_id=TopicId("a"),
            offsets=(SourceOffset(70), SourceOffset(UNKNOWN)),
            epochs=(-1, 4),
            at=1,
        )
    )
    assert looks_first(LATEST, books)  # a crash may have cut the look short
    books.take(FirstLook(LINK, "r", 2))
    assert not looks_first(LATEST, books)
    fresh = {tp(number): TopicId("a") for number in range(3)}
    found = beginnings(LATEST, None, books, fresh)  # type: ignore[arg-type]  # nobody is asked
    assert found == {
        tp(0): Beginning(SourceOffset(70), exact=True), tp(1): Beginning(epoch=4), tp(2): EARLIEST
    }  # fmt: skip
    again = beginnings(LATEST, None, books, {tp(0): TopicId("b")})  # type: ignore[arg-type]
    assert again == {tp(0): EARLIEST}  # the topic was made again since
    moves = [from_earliest(LATEST, books, tp(number), TopicId("a")) for number in range(3)]
    assert moves == [False, False, True]


@pytest.mark.broker
@pytest.mark.soak
def test_latest_holds_for_a_partition_without_a_leader_and_others_do_not_wait(
    tmp_path: Path, three: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, three, target, new_name("since"), "", {"start": "latest"}, "120s")
    create_topic(three.bootstrap, mirror.topic, 3, replication=1)
    create_topic(target.bootstrap, mirror.topic, 3)
    said = [Record(b"k", b"%d" % i, partition=i % 3) for i in range(300)]
    produce(three.bootstrap, mirror.topic, said)
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    leaders = admin.list_topics(mirror.topic, 30).topics[mirror.topic].partitions
    lost = next(n for n, each in leaders.items() if each.leader == leaders[0].leader)
    others = [n for n in range(3) if n != lost]
    three.stop_broker(leaders[lost].leader)
    try:
        mirror.config  # noqa: B018  # writes the file
        began = time.monotonic()
        [work] = mirror.slices()
        assert time.monotonic() - began < 60, "it waited for a leader"
        planned = {a.source.partition: a.start for a in work.assignments}
        assert planned == {lost: UNKNOWN, **dict.fromkeys(others, 100)}
        found = {d.tp.partition: d for d in replace(mirror, timeout="3s").catch_up()}
        assert [found[n].error for n in others] == ["", ""]
        assert found[lost].source_end == -1
        assert f"{mirror.topic}-{lost}" in found[lost].error
    finally:
        three.restart(leaders[lost].leader)
    wait_until(lambda: end_offsets(three.bootstrap, mirror.topic, lost)[1] == 100, "back")
    old = [Record(b"k", b"old", (), 1000, -1, lost)] * 2  # their times are of no account
    produce(three.bootstrap, mirror.topic, old)
    copied = {d.tp.partition: (d.records, d.error) for d in mirror.catch_up()}
    assert copied == {lost: (2, ""), **dict.fromkeys(others, (0, ""))}


@pytest.mark.broker
def test_what_lies_before_the_start_is_told_by_the_plan_and_by_status(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("before"), records={"start": "latest"})
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"%d" % n) for n in range(10)])
    text = (
        f"10 source offsets in 1 partition (such as 0 to 9 of {mirror.topic}-0) from before"
        " `records.start` will not be copied; neither does `verify` compare them"
    )
    notes = [each for each in build(mirror.config).notes if each.about == "records.start"]
    assert [each.text for each in notes] == [text]
    mirror.catch_up()
    again = [each for each in build(mirror.config).notes if each.about == "records.start"]
    assert again == notes
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    [row] = here("status", file, "--output", "json").json["partitions"]
    assert (row["before_start"], row["lag_records"]) == ([0, 10], 0)
