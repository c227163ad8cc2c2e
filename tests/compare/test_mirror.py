"""Comparing what the copier made: transactions, merged batches, clocks, compaction, retention."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.clients.records import COMPACT
from tests.support.clients.views import compared
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.ledger.standings import ROW
from tests.support.logs.compare import Pair, row
from tests.support.logs.old_messages import OLD, lay
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.compare.work import Comparison, RecordDifference
from towpath.dev.broker import LocalCluster
from towpath.mirror.status.partition_status import State
from towpath.mirror.verify.verdict import Verdict, verdict
from towpath.model.nouns import Mode, Side, TopicName, TopicPartition

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("verify"))


def test_transactions_are_compared_as_consumers_see_them(
    mirror: Mirror, rng: random.Random
) -> None:
    mirror.create()
    configs = {"bootstrap.servers": mirror.source.bootstrap, "linger.ms": 1}
    writers = [
        Producer(configs | {"transactional.id": f"{mirror.topic}-{index}"}) for index in range(3)
    ]
    for writer in writers:
        writer.init_transactions(30)
    for step in range(20):
        for writer in writers:
            writer.begin_transaction()
        for number in range(rng.randint(1, 60)):
            rng.choice(writers).produce(mirror.topic, b"%d" % number, b"%d" % step)
        for writer in writers:
            writer.flush(30)
            (writer.abort_transaction if rng.random() < 0.4 else writer.commit_transaction)(30)
    mirror.catch_up()
    seen = len(consume(mirror.source.bootstrap, mirror.topic))
    for size in (1 << 40, 500):
        found = compared(mirror, size)
        assert found.equal, found.difference
        assert found.counts.equal == found.target_digest.records == seen
        assert found.counts.foreign == 0


def test_tiny_batches_that_were_merged(mirror: Mirror) -> None:
    mirror.create()
    tiny = [Record(b"%d" % i, b"x", (), i) for i in range(1, 2000)]
    produce(mirror.source.bootstrap, mirror.topic, tiny, {"batch.num.messages": 1})
    produce(mirror.source.bootstrap, mirror.topic, tiny, {"compression.type": "lz4"})
    mirror.catch_up()
    found = compared(mirror)
    assert found.equal, found.difference
    assert found.counts.equal == 3998


def test_times_of_the_source_brokers_clock(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("verify-clock"))
    mirror.create()
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        admin.configs.change(TopicName(mirror.topic), {"message.timestamp.type": "LogAppendTime"})
    records = [Record(b"k", b"%d" % i, (), 5) for i in range(500)]
    produce(source.bootstrap, mirror.topic, records, {"compression.type": "zstd"})
    mirror.catch_up()
    found = compared(mirror)
    assert found.equal, found.difference
    assert (found.counts.equal, found.counts.untimed) == (500, 0)


@pytest.mark.parametrize("side", ["source", "target"])
def test_retention_on_one_side(mirror: Mirror, side: str) -> None:
    mirror.create()
    for part in range(5):
        records = [Record(b"%d" % part, b"%d" % i) for i in range(100)]
        produce(mirror.source.bootstrap, mirror.topic, records)
    mirror.catch_up()
    tp = TopicPartition(TopicName(mirror.topic), 0)
    config = mirror.config.source if side == "source" else mirror.config.target
    with Admin(config, Side(side)) as admin:
        admin.offsets.delete_records({tp: 234})
    found = compared(mirror)
    assert found.equal, found.difference
    assert (found.first, found.end, found.counts.equal) == (234, 500, 266)


def test_records_that_only_read_uncommitted_sees_are_counted(mirror: Mirror) -> None:
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 5)
    mirror.catch_up()
    writer = Producer({"bootstrap.servers": mirror.target.bootstrap, "transactional.id": "other"})
    writer.init_transactions(30)
    writer.begin_transaction()
    for _ in range(3):
        writer.produce(mirror.topic, b"aborted", partition=0)
    writer.flush()
    writer.abort_transaction(30)
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 5)
    mirror.catch_up()
    found = compared(mirror)
    assert (found.equal, found.counts.uncommitted) == (True, 3)
    assert found.notes[-1].endswith("read_uncommitted, the first at target offset 5")
    topic = TopicName(mirror.topic)
    row = replace(
        ROW, topic=topic, target_topic=topic, state=State.CAUGHT_UP, mode="mapped", target_end=14,
        lag_records=0,
    )  # fmt: skip
    books = mirror.books()
    assert verdict(row, books, found, "").verdict is Verdict.EQUAL
    said = verdict(row, books, found, "", uncommitted=True)
    assert said.verdict is Verdict.DIFFERENT
    assert said.why == "3 records on the target are seen with read_uncommitted only"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_side_that_compacts_after_copying(mirror: Mirror, side: str) -> None:
    mirror.create()
    for part in range(4):
        records = [Record(b"%d" % (i % 50), b"%d-%d" % (part, i)) for i in range(200)]
        produce(mirror.source.bootstrap, mirror.topic, records)
    cleaned = mirror.source.bootstrap if side == "source" else mirror.target.bootstrap

    def compacted() -> bool:
        produce(mirror.source.bootstrap, mirror.topic, [Record(b"tick", b"")])
        mirror.catch_up()
        return len(consume(cleaned, mirror.topic)) < 300

    mirror.catch_up()
    config = mirror.config.source if side == "source" else mirror.config.target
    with Admin(config, Side(side)) as admin:
        admin.configs.change(TopicName(mirror.topic), COMPACT)
    wait_until(compacted, "the log was compacted", 120)
    looks: list[Comparison] = []

    def still() -> bool:
        """The cleaner may go on between two looks."""
        looks[:] = (compared(mirror, compacted=each) for each in (side, "", side))
        return looks[0].counts == looks[2].counts

    wait_until(still, "the cleaner leaves the log as it is")
    found, unaware, _ = looks
    assert found.equal, found.difference
    assert found.counts.compacted > 500
    assert unaware.difference is not None
    assert unaware.counts.different == found.counts.compacted


def test_a_compacted_source_is_copied_to_a_mapped_target(mirror: Mirror) -> None:
    create_topic(mirror.source.bootstrap, mirror.topic, 1, COMPACT)
    create_topic(mirror.target.bootstrap, mirror.topic, 1)
    produce(mirror.target.bootstrap, mirror.topic, [Record(b"was", b"here")])

    def compacted() -> bool:
        records = [Record(b"%d" % (i % 50), b"%d" % i) for i in range(200)]
        produce(mirror.source.bootstrap, mirror.topic, records)
        return min(r.offset for r in consume(mirror.source.bootstrap, mirror.topic)) > 0

    wait_until(compacted, "the source was compacted", 120)
    [done] = mirror.catch_up()
    assert done.mode == Mode.MAPPED
    found = compared(mirror, compacted="source")
    assert found.equal, found.difference
    assert found.counts.equal + found.counts.compacted == done.records


COMPACTED = {"target_config": {"cleanup.policy": "compact"}}
HOLE = row(b"of somebody else", b"")


@pytest.mark.parametrize(
    ("last", "what"),
    [
        (b"new", None),
        (None, None),
        (b"gone", "missing on the target, with no later record of its key"),
    ],
)
def test_what_compaction_may_remove(
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    last: bytes | None,
    what: str | None,
) -> None:
    """The target lacks a record: a later one of its key explains that, or a tombstone."""
    pair = Pair.make(source, target, new_name("cleaner"), **COMPACTED)
    key, other = b"key", row(b"other", b"1")
    records = [row(key, b"old"), other, row(key, last), other]
    pair.source.write([records])
    pair.target.write([[HOLE]], producer=-1)
    pair.target.write([[other]])
    if last == b"new":
        pair.target.write([records[2:]])
    else:
        pair.target.write([[HOLE]], producer=-1)
        pair.target.write([[other]])
    found = pair.compare(4, target_compacted=True)
    if what is None:
        assert found.equal, found.difference
        assert found.counts.compacted == (1 if last else 2)
    else:
        assert found.difference == RecordDifference(2, 2, what)
        assert (found.counts.missing, found.counts.compacted) == (1, 1)


def test_a_lost_tombstone_is_missing_while_its_key_is_there(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    pair = Pair.make(source, target, new_name("tombstone"), **COMPACTED)
    pair.source.write([[row(b"key", b"old"), row(b"key", None), row(b"other", b"")]])
    pair.target.write([[row(b"key", b"old")]])
    pair.target.write([[HOLE]], producer=-1)
    pair.target.write([[row(b"other", b"")]])
    found = pair.compare(3, target_compacted=True)
    what = "missing on the target, with no later record of its key"
    assert found.difference == RecordDifference(1, 1, what)
    assert found.source_digest != found.target_digest


def test_old_formats_are_compared_as_what_they_become(
    tmp_path: Path, lone: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    mirror = Mirror(tmp_path, lone, target, new_name("verify-old"))
    mirror.create()
    lay(lone, mirror.topic, b"".join(OLD))
    produce(lone.bootstrap, mirror.topic, [Record(b"new", b"batch", (), 1_700_000_000_000)])
    mirror.catch_up()
    found = compared(mirror)
    assert found.equal, found.difference
    assert found.counts.equal == 31
