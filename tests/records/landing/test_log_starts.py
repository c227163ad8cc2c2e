"""Fresh mirror topics of logs that begin late: filled, cut; nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.copying.copier import copier, going
from tests.support.here import Here
from tests.support.kafka import Record, consume, delete_before, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.codes import TOPIC_AUTHORIZATION_FAILED, refused
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode, Side, TargetOffset, TopicName, TopicPartition
from towpath.records.landing.log_starts import LogStarts
from towpath.records.work import Assignment
from towpath.wire.filler import LARGEST, filler

pytestmark = pytest.mark.broker
START = 5 * LARGEST + 321


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Mirror:
    """Return a topic whose first partition begins late."""
    made = Mirror(tmp_path, source, target, new_name("fronts"))
    made.create(2)
    tp = TopicPartition(TopicName(made.topic), 0)
    config = made.config.source
    with Admin(config, Side.SOURCE) as admin, Client(config, Side.SOURCE, admin) as client:
        for at in range(0, START, LARGEST):
            client.produce(tp, filler(min(LARGEST, START - at), now_ms=1))
    delete_before(source.bootstrap, made.topic, START)
    return made


def write(mirror: Mirror) -> None:
    for partition in (0, 1):
        records = [Record(None, b"%d" % number, partition=partition) for number in range(10)]
        produce(mirror.source.bootstrap, mirror.topic, records)


def test_a_long_front_keeps_nobody_waiting_and_goes_on_where_it_stood(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mirror)
    [work] = mirror.slices()
    fill = LogStarts._fill
    with copier(work, work.source, work.target) as made, monkeypatch.context() as slow:

        def filled(fronts: LogStarts, work: Assignment, at: Any, end: Any) -> TargetOffset:
            """Fill no further than to the middle before the round ends."""
            if at >= START // 2:
                wait_until(lambda: made._ended is not None, "the round ends")
            return fill(fronts, work, at, end)

        slow.setattr(LogStarts, "_fill", filled)
        with going(made):
            boot = mirror.target.bootstrap
            wait_until(lambda: end_offsets(boot, mirror.topic, 1)[1] == 10, "it is copied")
            wait_until(lambda: end_offsets(boot, mirror.topic)[1] > 0, "the front is begun")
    stood = end_offsets(mirror.target.bootstrap, mirror.topic)[1]
    assert stood < START, "the round ended in the middle of the front"
    first, second = mirror.catch_up()
    assert (first.records, first.mode, second.records) == (10, Mode.IDENTICAL, 0)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (START, START + 10)
    assert consume(mirror.target.bootstrap, mirror.topic, (0, 1)) == consume(
        mirror.source.bootstrap, mirror.topic, (0, 1)
    )


def test_a_front_without_records_behind_it_is_filled_before_the_round_ends(mirror: Mirror) -> None:
    first, second = mirror.catch_up()
    assert (first.records, first.mode, second.records) == (0, Mode.IDENTICAL, 0)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (START, START)


def test_records_of_others_that_end_where_the_mirror_begins_are_not_deleted(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("fronts"))
    mirror.create()
    topic = mirror.topic
    for cluster in (source, target):
        produce(cluster.bootstrap, topic, [Record(b"k", b"theirs")] * 30)
    delete_before(source.bootstrap, topic, 30)
    for number in range(2):
        produce(source.bootstrap, topic, [Record(b"k", b"%d" % number)])
        mirror.catch_up()
    assert mirror.books().mode is Mode.IDENTICAL
    assert mirror.books().offsets().runs == ((30, 30, 2),)
    expected = [b"theirs"] * 30 + [b"0", b"1"]
    assert [record.value for record in consume(target.bootstrap, topic)] == expected


def test_records_of_others_are_kept_where_the_source_lost_the_first_ones_of_the_mirror(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    """The partition was opened behind them, and had copied nothing when the source log moved on."""
    mirror = Mirror(tmp_path, source, target, new_name("fronts"))
    mirror.create()
    topic = mirror.topic
    for cluster in (source, target):
        produce(cluster.bootstrap, topic, [Record(b"k", b"theirs")] * 30)
    delete_before(source.bootstrap, topic, 30)
    mirror.catch_up()
    assert mirror.books().mode is Mode.IDENTICAL
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % number) for number in range(9)])
    delete_before(source.bootstrap, topic, 35)
    mirror.catch_up()
    expected = [b"theirs"] * 30 + [b"%d" % number for number in range(5, 9)]
    assert [record.value for record in consume(target.bootstrap, topic)] == expected
    assert mirror.books().mode is Mode.MAPPED


def test_why_a_front_cannot_be_filled_is_told_before_there_is_a_receipt(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    here: Here,
) -> None:
    """It was `caught up`, as no receipt may be written before the front is filled."""
    mirror = Mirror(tmp_path, source, target, new_name("fronts"))
    mirror.create()
    topic, file = mirror.topic, str(mirror.folder / f"{mirror.topic}.yaml")
    produce(source.bootstrap, topic, [Record(b"k", b"v")] * 30)
    delete_before(source.bootstrap, topic, 30)
    what = f"deleting records of {topic}-0"

    def refuse(*_: object) -> TargetOffset:
        raise refused(Side.TARGET, what, TOPIC_AUTHORIZATION_FAILED, acl="Delete")

    with monkeypatch.context() as broken:
        broken.setattr(LogStarts, "_cut", refuse)
        mirror.catch_up()
    ended = here("status", file, "--output", "json")
    [row] = ended.json["partitions"]
    assert (ended.code, row["state"], what in row["error"]) == (3, "stopped", True)
    assert here("status", file).out.count(what) == 1
    assert mirror.books().receipt is None
    mirror.catch_up()
    ended = here("status", file, "--output", "json")
    assert (ended.code, ended.json["partitions"][0]["state"]) == (0, "caught up")
    assert end_offsets(target.bootstrap, topic) == (30, 30)
