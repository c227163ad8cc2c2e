"""What racing and killed copiers leave behind, built on purpose instead of by chance."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clients.records import transactions
from tests.support.copying.chaos import (
    Copiers,
    copy_without_receipts,
    drain,
    endless,
    same_records,
    soak_rounds,
)
from tests.support.kafka import Record, consume, delete_before, end_offsets, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.offsets import Exactness
from towpath.model.nouns import (
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.items import Fill
from towpath.records.lane.lane import Lane
from towpath.records.standing import Position, Standing
from towpath.records.work import Assignment

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("race"))
    made.create()
    return made


def assert_same(mirror: Mirror) -> None:
    source, target = (consume(c.bootstrap, mirror.topic) for c in (mirror.source, mirror.target))
    same_records(source, target, mirror.topic)


def test_filled_gaps_are_known_again_without_a_receipt(
    mirror: Mirror, copiers: Copiers, rng: random.Random
) -> None:
    transactions(mirror, rng, 40)
    end = end_offsets(mirror.source.bootstrap, mirror.topic)[1]
    copy_without_receipts(mirror, copiers, end)
    transactions(mirror, rng, 20)
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (Mode.IDENTICAL, "", "")
    assert_same(mirror)


def test_two_copiers_fill_the_same_gaps(
    mirror: Mirror, copiers: Copiers, rng: random.Random
) -> None:
    transactions(mirror, rng, 80)
    [work] = mirror.slices()
    for _ in range(3):
        copiers.start(work)
    for process in list(copiers.alive):
        process.join(60)
    copiers.kill_all()
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (Mode.IDENTICAL, "", "")
    assert_same(mirror)


@pytest.mark.soak
def test_a_copier_that_was_frozen_while_it_filled(
    mirror: Mirror, copiers: Copiers, rng: random.Random
) -> None:
    for _ in range(soak_rounds() or 5):
        transactions(mirror, rng, 60)
        [work] = mirror.slices()
        copiers.start(endless(work))
        [frozen] = copiers.alive
        assert frozen.pid is not None
        time.sleep(rng.uniform(0.3, 2.0))
        os.kill(frozen.pid, signal.SIGSTOP)
        [done] = mirror.catch_up()
        assert (done.mode, done.reason, done.error) == (Mode.IDENTICAL, "", "")
        os.kill(frozen.pid, signal.SIGCONT)
        frozen.join(5)
        copiers.kill_all()
        [done] = mirror.catch_up()
        assert (done.mode, done.reason, done.error) == (Mode.IDENTICAL, "", "")
        assert_same(mirror)
        boot = mirror.target.bootstrap
        seen = consume(boot, mirror.topic, isolation="read_uncommitted")
        assert seen == consume(boot, mirror.topic)


def test_records_behind_those_of_another_writer_are_found_without_a_receipt(
    mirror: Mirror, copiers: Copiers
) -> None:
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"a")] * 10)
    mirror.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, [Record(None, b"foreign")])
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"b")] * 10)
    copy_without_receipts(mirror, copiers, 21)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    assert mirror.books().offsets().runs == ((0, 0, 10), (10, 11, 10))


def test_a_receipt_inside_a_batch_of_the_target(mirror: Mirror, copiers: Copiers) -> None:
    mirror.records = {"offsets": "mapped"}
    tiny = [Record(None, b"%d" % i) for i in range(200)]
    produce(mirror.source.bootstrap, mirror.topic, tiny, {"batch.num.messages": 1})
    copy_without_receipts(mirror, copiers, 200)
    [work] = mirror.slices()
    half = replace(
        work, assignments=tuple(replace(a, end=SourceOffset(97)) for a in work.assignments)
    )
    drain(half)
    produce(mirror.source.bootstrap, mirror.topic, tiny)
    [done] = mirror.catch_up()
    assert done.error == ""
    values = [record.value for record in consume(mirror.target.bootstrap, mirror.topic)]
    assert values == [record.value for record in tiny * 2]


@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_records_that_the_source_lost_before_a_receipt(
    mirror: Mirror, copiers: Copiers, offsets: str
) -> None:
    mirror.records = {"offsets": offsets, "on_gap": "record"}
    records = [Record(None, b"%d" % i) for i in range(20)]
    produce(mirror.source.bootstrap, mirror.topic, records[:10])
    copy_without_receipts(mirror, copiers, 10)
    delete_before(mirror.source.bootstrap, mirror.topic, 5)
    produce(mirror.source.bootstrap, mirror.topic, records[10:])
    [done] = mirror.catch_up()
    assert done.error == ""
    assert [r.value for r in consume(mirror.target.bootstrap, mirror.topic)] == [
        record.value for record in records
    ]
    last = mirror.books().offsets().to_target(SourceOffset(19))
    assert (last.offset, last.exactness) == (19, Exactness.EXACT)


def test_a_gap_that_grows_while_it_is_filled() -> None:
    tp, topic_id = TopicPartition(TopicName("t"), 0), TopicId("id")
    work = Assignment(
        source=tp,
        target=tp,
        source_id=topic_id,
        target_id=topic_id,
        producer_id=ProducerId(1),
        filler_id=ProducerId(2),
        start=SourceOffset(10),
    )
    lane = Lane(
        work,
        Standing(
            position=Position(SourceOffset(10), TargetOffset(10), 0),
            mode=Mode.IDENTICAL,
            reasons=(),
            run=(SourceOffset(10), TargetOffset(10), 0),
        ),
    )
    lane.queue.put(Fill(SourceOffset(10), SourceOffset(14)))
    assert lane.fill_due == Fill(SourceOffset(10), SourceOffset(14))
    lane.queue.put(Fill(SourceOffset(14), SourceOffset(18)))
    lane.filled(SourceOffset(14))
    assert (lane.progress.position.source, lane.progress.position.target) == (14, 14)
    assert lane.fill_due == Fill(SourceOffset(14), SourceOffset(18))


def test_records_behind_a_hole_are_found_without_a_receipt(
    mirror: Mirror, copiers: Copiers
) -> None:
    """The first copier found a hole, shifted what lies behind it, and died."""
    mirror.records = {"on_gap": "record"}
    records = [Record(None, b"%d" % i) for i in range(30)]
    produce(mirror.source.bootstrap, mirror.topic, records[:10])
    mirror.catch_up()
    produce(mirror.source.bootstrap, mirror.topic, records[10:20])
    delete_before(mirror.source.bootstrap, mirror.topic, 15)
    copy_without_receipts(mirror, copiers, 15)
    produce(mirror.source.bootstrap, mirror.topic, records[20:])
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    values = [record.value for record in consume(mirror.target.bootstrap, mirror.topic)]
    assert values == [record.value for record in records[:10] + records[15:]]
