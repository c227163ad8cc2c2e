"""A feed of archived records: lanes write them at their own offsets, once, whatever happens."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.support.archive.archived import Archived
from tests.support.archive.restoring import DAY_MS, Restoring, drawn, raced, restore_raced, seen
from tests.support.copying.chaos import Copiers, soak_rounds
from tests.support.kafka import consume
from tests.support.logs.batches import at_offsets
from towpath.archive.errors import NewerSegmentError, WithheldError
from towpath.archive.read.feed.late_parts import LatePolicy
from towpath.dev.broker import LocalCluster
from towpath.ledger.offsets import Exactness
from towpath.model.errors import StoreAwayError, TowpathError
from towpath.model.nouns import Mode, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.wire.plain import Record

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
MISSING = Reason.of(ReasonCode.ARCHIVE_MISSING, key="data/eu/orders/0/0/x.parquet")


def numbers(count: int, start: int = 0) -> Archived:
    old = now_ms() - 40 * DAY_MS
    records = [Record(b"k", b"%d" % n, (), old + n) for n in range(start, start + count)]
    return Archived(at_offsets(records, [*range(start, start + count)]), start + count)


def test_old_records_land_at_their_own_offsets_with_their_times(
    target: LocalCluster, new_name: NewName, rng: random.Random
) -> None:
    """Markers and holes are filled, what retention had taken is cut, and nothing is younger."""
    old = now_ms() - 40 * DAY_MS
    supplies = {n: drawn(rng, 400, old, start=1000) for n in range(3)}
    restoring = Restoring(target, new_name("restored"), supplies, start=1000)
    found = restoring.run()
    assert [(each.error, each.mode, each.reason) for each in found] == [("", "identical", "")] * 3
    for number, supply in supplies.items():
        there = consume(target.bootstrap, restoring.topic, (number,))
        assert there == seen(supply.records, number)
        unseen = consume(target.bootstrap, restoring.topic, (number,), isolation="read_uncommitted")
        assert unseen == there
        receipt = restoring.books(number).receipt
        assert receipt is not None
        assert (receipt.source_end, receipt.target_end) == (supply.end, supply.end)


def test_where_filling_costs_too_much_offsets_are_mapped(
    target: LocalCluster, new_name: NewName
) -> None:
    archived = numbers(20)
    archived = replace(archived, records=[r for r in archived.records if not 3 <= r.offset < 15])
    restoring = Restoring(target, new_name("restored"), {0: archived}, fill=5)
    [done] = restoring.run()
    assert (done.error, done.mode, done.source_end) == ("", Mode.MAPPED, 20)
    assert [reason.code for reason in done.reasons] == [ReasonCode.HOLES]
    found = consume(target.bootstrap, restoring.topic)
    assert [each.value for each in found] == [each.value for each in archived.records]
    answer = restoring.books().offsets().to_target(SourceOffset(15))
    assert (answer.offset, answer.exactness) == (3, Exactness.EXACT)


class Withheld:
    """Keeps a part of an archive back for some reads."""

    def __init__(self, first: int, end: int, reads: int, error: TowpathError | None = None) -> None:
        self.first, self.end, self.left = SourceOffset(first), SourceOffset(end), reads
        self.error = error or WithheldError(self.first, self.end, MISSING)

    def __call__(self, at: SourceOffset) -> None:
        if self.first <= at < self.end and self.left:
            self.left -= 1
            raise self.error


def test_a_late_part_is_waited_for(target: LocalCluster, new_name: NewName) -> None:
    archived = replace(numbers(70), before=Withheld(28, 42, reads=2))
    restoring = Restoring(target, new_name("restored"), {0: archived})
    [done] = restoring.run()
    assert (done.error, done.mode) == ("", Mode.IDENTICAL)
    assert archived.reads == [0, 28, 28], "it is read on where it was late"
    assert consume(target.bootstrap, restoring.topic) == seen(archived.records)
    assert not restoring.books().gaps


def test_a_store_that_is_away_is_waited_for_and_other_errors_stop_a_partition(
    target: LocalCluster, new_name: NewName
) -> None:
    """So a newer format, which waiting does not help, stops its own partition alone."""
    away = StoreAwayError("s3://archive", "read it", "no answer")
    newer = NewerSegmentError("data/x.parquet", "2", 1)
    supplies = {
        0: replace(numbers(70), before=Withheld(28, 42, reads=3, error=away)),
        1: replace(numbers(70), before=Withheld(28, 42, reads=99, error=newer)),
    }
    restoring = Restoring(target, new_name("restored"), supplies)
    done, stopped = restoring.run()
    assert (done.error, done.mode, done.source_end) == ("", Mode.IDENTICAL, 70)
    assert (stopped.error, stopped.source_end) == (str(newer), 28)


@pytest.mark.parametrize("skip", [False, True])
def test_a_lost_part_stops_its_partition_or_is_a_gap(
    target: LocalCluster, new_name: NewName, *, skip: bool
) -> None:
    lost = replace(numbers(70), before=Withheld(28, 42, reads=9))
    late = LatePolicy(retries=2, seconds=0.3, skip=skip)
    restoring = Restoring(target, new_name("restored"), {0: lost, 1: numbers(70)}, late=late)
    done, other = restoring.run()
    [gap] = restoring.books().gaps
    assert (gap.first, gap.end, gap.went_on, gap.why) == (28, 42, skip, MISSING)
    assert (other.error, other.source_end) == ("", 70)
    found = consume(target.bootstrap, restoring.topic)
    if skip:
        assert (done.error, done.mode, done.source_end) == ("", Mode.IDENTICAL, 70)
        assert found == seen([r for r in lost.records if not 28 <= r.offset < 42])
        answer = restoring.books().offsets().to_target(SourceOffset(30))
        assert (answer.offset, answer.exactness) == (30, Exactness.LOST)
    else:
        assert done.trouble is not None
        assert done.trouble.code is ReasonCode.ARCHIVE_LOST
        assert "offsets 28 to 41 cannot be restored" in done.error
        assert found == seen(lost.records[:28])
        lost = replace(lost, before=lambda _: None)
        restoring.supplies = {0: lost, 1: numbers(70)}
        assert restoring.run()[0].error == ""
        assert consume(target.bootstrap, restoring.topic) == seen(lost.records)


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_restorers_are_killed_and_race(
    target: LocalCluster, new_name: NewName, rng: random.Random, copiers: Copiers
) -> None:
    """Nothing is lost or doubled, though the records are old."""
    rounds = soak_rounds() or 10
    seed, count = rng.randrange(1 << 30), 1000 * rounds
    name, supplies = new_name("raced"), raced(seed, count)
    restoring = Restoring(target, name, supplies, timeout="2s", start=7, fill=count)
    for _ in range(rounds):
        for _ in range(rng.choice((1, 2, 2))):
            copiers.start(restoring.work(settled=False), partial(restore_raced, seed, count))
        time.sleep(rng.uniform(0.3, 2.5))
        copiers.kill(rng.choice(copiers.alive))
        if rng.random() < 0.7:
            copiers.kill_all()
    copiers.kill_all()
    for done in restoring.run_driven():
        end = restoring.supplies[done.tp.partition].end
        assert (done.error, done.mode, done.reason) == ("", "identical", "")
        assert done.source_end == end
    for number, supply in restoring.supplies.items():
        for isolation in ("read_committed", "read_uncommitted"):
            found = consume(target.bootstrap, restoring.topic, (number,), isolation=isolation)
            assert found == seen(supply.records, number)
