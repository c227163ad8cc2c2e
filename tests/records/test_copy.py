"""Copying between real brokers, version by version: the target's view is the source's."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.clients.records import ODD, transactions
from tests.support.clients.views import assert_same_view
from tests.support.kafka import Record, consume, create_topic, delete_before, end_offsets, produce
from tests.support.ledger.reasons import told
from tests.support.mirror import Mirror
from towpath.cluster.admin.topics import TopicAdmin
from towpath.cluster.metadata import Metadata
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import NO_TOPIC_ID, Mode, SourceOffset, TargetOffset
from towpath.records.copy import copy
from towpath.records.landing.moved import MovedBeginnings
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("copy"))


def test_an_error_of_the_ledger_is_over_when_a_partition_begins_again(mirror: Mirror) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, ODD)
    mirror.catch_up()
    receipt = mirror.books().receipt
    assert receipt is not None
    mirror.note(replace(receipt, trouble=told("it was refused"), at=now_ms()))
    [done] = mirror.catch_up()
    assert (done.records, done.error) == (0, "")
    now = mirror.books().receipt
    assert now is not None
    assert (now.error, now.source_end, now.digest) == ("", receipt.source_end, receipt.digest)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_odd_records_arrive_unchanged_in_every_codec(mirror: Mirror, codec: str) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, ODD, {"compression.type": codec})
    [done] = mirror.catch_up()
    assert (done.mode, done.records, done.error) == (Mode.IDENTICAL, len(ODD), "")
    assert assert_same_view(mirror) == len(ODD)


def test_copies_are_the_same_on_every_version(
    tmp_path: Path, pair: tuple[LocalCluster, LocalCluster], new_name: NewName
) -> None:
    mirror = Mirror(tmp_path, *pair, new_name("version"))
    mirror.create(3)
    records = [Record(b"%d" % i, b"v%d" % i, (), 0, -1, i % 3) for i in range(3000)]
    produce(mirror.source.bootstrap, mirror.topic, records, {"compression.type": "lz4"})
    mirror.catch_up()
    produce(mirror.source.bootstrap, mirror.topic, records[:300])
    mirror.catch_up()
    assert assert_same_view(mirror, 3) == 3300


def test_topics_without_ids_are_copied_by_name(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some brokers take requests by id, and have topics from before there were ids."""
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, ODD)
    with_brokers = TopicAdmin.with_brokers

    def nameless(self: TopicAdmin, *names: Any) -> Metadata:
        found = with_brokers(self, *names)
        topics = {name: replace(topic, id=NO_TOPIC_ID) for name, topic in found.topics.items()}
        return replace(found, topics=topics)

    monkeypatch.setattr(TopicAdmin, "with_brokers", nameless)
    [done] = mirror.catch_up()
    assert done.error == ""
    assert assert_same_view(mirror) == len(ODD)


def test_a_large_record_and_many_tiny_batches(mirror: Mirror, rng: random.Random) -> None:
    mirror.create(2, {"max.message.bytes": "8000000"})
    big = Record(b"big", rng.randbytes(5_000_000), (), 7)
    configs = {"message.max.bytes": 8_000_000}
    produce(mirror.source.bootstrap, mirror.topic, [big], configs)
    tiny = [Record(None, b"x", (), i, -1, i % 2) for i in range(1, 3000)]
    produce(mirror.source.bootstrap, mirror.topic, tiny, {"batch.num.messages": 1})
    mirror.catch_up()
    assert assert_same_view(mirror, 2) == 3000


def test_a_log_that_begins_late_begins_late_on_the_target(mirror: Mirror) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"%d" % i) for i in range(500)])
    delete_before(mirror.source.bootstrap, mirror.topic, 321)
    mirror.catch_up()
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (321, 500)
    assert assert_same_view(mirror) == 179


def test_copying_goes_on_where_it_stood(mirror: Mirror) -> None:
    mirror.create()
    for part in range(4):
        records = [Record(b"k", b"%d-%d" % (part, i)) for i in range(100)]
        produce(mirror.source.bootstrap, mirror.topic, records)
        [done] = mirror.catch_up()
        assert (done.records, done.source_end) == (100, 100 * (part + 1))
    assert assert_same_view(mirror) == 400


def test_log_append_times_become_create_times(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("append"))
    create_topic(source.bootstrap, mirror.topic, 1, {"message.timestamp.type": "LogAppendTime"})
    create_topic(target.bootstrap, mirror.topic)
    records = [Record(b"k", b"%d" % i, (), 5) for i in range(50)]
    produce(source.bootstrap, mirror.topic, records, {"compression.type": "zstd"})
    mirror.catch_up()
    assert assert_same_view(mirror) == 50
    assert all(r.timestamp > 1_000_000 for r in consume(target.bootstrap, mirror.topic))


def test_batches_go_whole_from_clock_to_clock(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    """Brokers refuse batches that say that a broker stamped them, also where they stamp anew."""
    mirror = Mirror(tmp_path, source, target, new_name("clocks"))
    clock = {"message.timestamp.type": "LogAppendTime"}
    for cluster in (source, target):
        create_topic(cluster.bootstrap, mirror.topic, 1, clock)
    records = [Record(b"k", b"%d" % i, (), 5) for i in range(50)]
    produce(source.bootstrap, mirror.topic, records, {"compression.type": "zstd"})
    [done] = mirror.catch_up()
    assert (done.error, done.source_end) == ("", 50)
    there = consume(target.bootstrap, mirror.topic)
    assert [each.value for each in there] == [each.value for each in records]
    before = max(each.timestamp for each in consume(source.bootstrap, mirror.topic))
    assert min(each.timestamp for each in there) >= before, "the target's own times"


def test_transactions_keep_their_offsets(
    tmp_path: Path,
    pair: tuple[LocalCluster, LocalCluster],
    new_name: NewName,
    rng: random.Random,
) -> None:
    mirror = Mirror(tmp_path, *pair, new_name("transactions"))
    mirror.create()
    transactions(mirror, rng, 60)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.IDENTICAL, "")
    seen = assert_same_view(mirror)
    assert len(consume(mirror.target.bootstrap, mirror.topic, isolation="read_uncommitted")) == seen
    ends = [end_offsets(c.bootstrap, mirror.topic)[1] for c in (mirror.source, mirror.target)]
    assert ends[0] == ends[1]
    assert len(mirror.books().offsets().runs) == 1


def test_transactions_are_dropped_where_offsets_are_mapped(
    mirror: Mirror, rng: random.Random
) -> None:
    mirror.records = {"offsets": "mapped"}
    mirror.create()
    transactions(mirror, rng, 40)
    [done] = mirror.catch_up()
    assert done.mode is Mode.MAPPED
    source, target = (consume(c.bootstrap, mirror.topic) for c in (mirror.source, mirror.target))
    assert [r.value for r in target] == [r.value for r in source]
    offsets = mirror.books().offsets()
    assert [offsets.to_target(SourceOffset(r.offset)).offset for r in source] == [
        r.offset for r in target
    ]
    assert [offsets.to_source(TargetOffset(r.offset)).offset for r in target] == [
        r.offset for r in source
    ]


def test_gaps_keep_mapped_offsets_as_far_apart_as_they_are(
    mirror: Mirror, rng: random.Random
) -> None:
    mirror.create()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"own")] * 3)
    transactions(mirror, rng, 40)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    source, target = (consume(c.bootstrap, mirror.topic) for c in (mirror.source, mirror.target))
    assert [(r.offset + 3, r.value) for r in source] == [(r.offset, r.value) for r in target[3:]]
    [run] = mirror.books().offsets().runs
    assert run[1] - run[0] == 3
    # Another writer steps in: from there on nothing keeps the distance, and all is still found.
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"foreign")] * 2)
    transactions(mirror, rng, 30)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    source, target = (consume(c.bootstrap, mirror.topic) for c in (mirror.source, mirror.target))
    ours = [r for r in target if r.value not in {b"own", b"foreign"}]
    assert [r.value for r in source] == [r.value for r in ours]
    offsets = mirror.books().offsets()
    assert [offsets.to_target(SourceOffset(r.offset)).offset for r in source] == [
        r.offset for r in ours
    ]
    assert [offsets.to_source(TargetOffset(r.offset)).offset for r in ours] == [
        r.offset for r in source
    ]


def test_an_open_transaction_holds_back_what_follows(mirror: Mirror) -> None:
    mirror.create()
    boot = mirror.source.bootstrap
    writer = Producer({"bootstrap.servers": boot, "transactional.id": mirror.topic})
    writer.init_transactions(30)
    produce(boot, mirror.topic, [Record(None, b"before")])
    writer.begin_transaction()
    writer.produce(mirror.topic, b"open", partition=0)
    writer.flush()
    produce(boot, mirror.topic, [Record(None, b"after")])
    mirror.catch_up()
    assert [r.value for r in consume(mirror.target.bootstrap, mirror.topic)] == [b"before"]
    writer.commit_transaction(30)
    mirror.catch_up()
    assert assert_same_view(mirror) == 3


def test_a_target_with_records_of_its_own_is_mapped(mirror: Mirror) -> None:
    mirror.create()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"own")] * 3)
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"%d" % i) for i in range(10)])
    [done] = mirror.catch_up()
    assert (done.mode, done.reason) == (
        Mode.MAPPED,
        "the target partition ended at offset 3 already",
    )
    values = [r.value for r in consume(mirror.target.bootstrap, mirror.topic)]
    assert values == [b"own"] * 3 + [b"%d" % i for i in range(10)]
    assert mirror.books().offsets().runs == ((0, 3, 10),)


@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("cut_off", [False, True])
def test_retention_before_the_first_fetch_moves_the_beginning(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, first: int, *, cut_off: bool
) -> None:
    """Nothing was copied, so nothing is missing; a run may end when the front is just filled."""
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"%d" % i) for i in range(100)])
    if first:
        delete_before(mirror.source.bootstrap, mirror.topic, first)
    [work] = mirror.slices()
    delete_before(mirror.source.bootstrap, mirror.topic, 10)
    if cut_off:
        with monkeypatch.context() as patch:
            patch.setattr(MovedBeginnings, "_moved", lambda _, lane, __: lane.stop(told("cut off")))
            [done] = copy(work)
        assert (done.records, done.error) == (0, "cut off")
        delete_before(mirror.source.bootstrap, mirror.topic, 12)
        [work] = mirror.slices()
    begin = 12 if cut_off else 10
    [done] = copy(work)
    assert (done.mode, done.records, done.error) == (Mode.IDENTICAL, 100 - begin, "")
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (begin, 100)
    assert mirror.books().gaps == ()
    assert mirror.books().offsets().runs == ((begin, begin, 100 - begin),)
    assert assert_same_view(mirror) == 100 - begin


def test_a_beginning_that_moves_makes_no_gap_where_offsets_are_mapped(mirror: Mirror) -> None:
    mapped = replace(mirror, records={"offsets": "mapped"})
    mapped.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"%d" % i) for i in range(100)])
    [work] = mapped.slices()
    delete_before(mirror.source.bootstrap, mirror.topic, 10)
    [done] = copy(work)
    assert (done.records, done.error, mapped.books().gaps) == (90, "", ())
    assert mapped.books().offsets().runs == ((10, 0, 90),)
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"more")] * 20)
    delete_before(mirror.source.bootstrap, mirror.topic, 110)
    [done] = mapped.catch_up()
    assert "offsets 100 to 109" in done.error  # something was copied, so this is a gap


def test_another_writer_turns_a_partition_mapped(mirror: Mirror) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"a")] * 10)
    mirror.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"foreign")])
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"b")] * 10)
    [done] = mirror.catch_up()
    assert done.mode is Mode.MAPPED
    assert "not at its own 10: another writer was there first" in done.reason
    assert mirror.books().offsets().runs == ((0, 0, 10), (10, 11, 10))


def test_identical_where_it_cannot_be_is_an_error_that_says_why(mirror: Mirror) -> None:
    mirror.records = {"offsets": "identical"}
    mirror.create()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"own")])
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"x")])
    [done] = mirror.catch_up()
    assert "offsets cannot stay identical: the target partition ended at offset 1" in done.error
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 1)


def test_identical_stops_where_another_writer_steps_in(mirror: Mirror) -> None:
    mirror.records = {"offsets": "identical"}
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"a")] * 10)
    mirror.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"foreign")])
    for _ in range(8):  # more batches than fly at once
        produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"b" * 5000)])
    [done] = mirror.catch_up()
    assert "offsets cannot stay identical: the record lies at target offset 11" in done.error
    assert done.mode is Mode.IDENTICAL
