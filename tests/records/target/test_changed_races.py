"""Copiers that race for a partition under changes: each kept record is there once, changed so."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support.copying.racing import DEEP, LINK, WORK, Racer, World
from tests.support.logs.changed import (
    AGES_MS,
    CHANGES,
    HOME,
    ConstantIds,
    StandInQuarantine,
    batches,
    expected,
)
from tests.support.session.seeds import seeded
from towpath.ledger import entries
from towpath.ledger.books import LinkBooks
from towpath.model.changes import RecordChange
from towpath.model.nouns import ClusterId
from towpath.records.change_services import ChangeServices
from towpath.wire import batch as wire
from towpath.wire import plain
from towpath.wire.plain import Record

pytestmark = pytest.mark.slow

OUTSIDE = ChangeServices(
    link=LINK,
    source_cluster=ClusterId("there"),
    target_cluster=ClusterId(HOME),
    ids=ConstantIds(),
    quarantine=StandInQuarantine(),
)

FILLED = [change for name, change in CHANGES.items() if name != "quarantine"]
"""Changes that leave no holes in identical partitions: nobody fills any here."""


def world(rng: random.Random, *changes: RecordChange, calm: bool = False) -> World:
    ages = AGES_MS[-1:] if calm else AGES_MS
    made = batches(rng, rng.randrange(1, 25), rng.randrange(1, 5), ages)
    return World(rng, made, changes=changes, calm=calm, outside=OUTSIDE)


def play(of: World) -> None:
    for _ in range(of.rng.randrange(400)):
        of.anything()
    of.finish()
    assert found(of) == wanted(of)


def wanted(of: World) -> list[Record]:
    books = LinkBooks(LINK)
    for each in of.ledger:
        entry = entries.decode(*each)
        if entry is not None:
            books.take(entry)
    partition = books.of(WORK.source)
    assert partition.opened is not None
    history = [(0, partition.opened.change)]
    history += [(source, digest) for source, _, digest in partition.changed]
    return [bare(each) for each in expected(source(of), history, OUTSIDE.origin(WORK))]


def source(of: World) -> list[Record]:
    return [record for data in of.batches for record in plain.decode(bytes(data))]


def found(of: World) -> list[Record]:
    ours: list[Record] = []
    for data in of.leader.log:
        header = wire.BatchHeader.read(data)
        if not header.attributes & wire.CONTROL and header.producer_id >= 0:
            ours += plain.decode(bytes(data))
    return [bare(each) for each in ours]


def bare(record: Record) -> Record:
    return replace(record, offset=-1)


@pytest.mark.parametrize("name", [*CHANGES])
@seeded(1, 20)
def test_under_one_change_each_kept_record_is_there_once(name: str, seed: int) -> None:
    play(world(random.Random(seed), CHANGES[name]))


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "quarantine"])
@seeded(1, 20)
def test_where_offsets_are_identical_the_sequences_do_it(name: str, seed: int) -> None:
    play(world(random.Random(seed), CHANGES[name], calm=True))


@seeded(4, 100)
def test_under_changes_that_differ_each_record_is_there_as_one_of_them_says(seed: int) -> None:
    rng = random.Random(seed)
    play(world(rng, *rng.sample([*CHANGES.values()], 2)))


@seeded(4, 100)
def test_where_offsets_are_identical_a_file_that_was_edited_holds_behind_what_is_there(
    seed: int,
) -> None:
    """Each copier was killed, perhaps without a receipt, before the next one begins."""
    rng = random.Random(seed)
    made = world(rng, *rng.sample(FILLED, 3), calm=True)
    made.deep = DEEP
    for _ in range(rng.randrange(1, 8)):
        copier = Racer(made)
        for _ in range(rng.randrange(40)):
            copier.go_on()
            if rng.random() < 0.7 and made.under_way:
                made.under_way[-1].deliver()
        made.under_way.clear()
    made.finish()
    assert found(made) == wanted(made)


@seeded(4, 100)
def test_copiers_of_identical_offsets_with_other_files_at_once_lose_and_double_nothing(
    seed: int,
) -> None:
    """No run lets that happen; if it does, records may be as either file has it."""
    rng = random.Random(seed)
    changes = rng.sample([change for change in FILLED if not change.drops], 2)
    made = world(rng, *changes, calm=True)
    for _ in range(rng.randrange(400)):
        made.anything()
    made.finish()
    there, records = found(made), source(made)
    assert len(there) == len(records)
    for record, one in zip(records, there, strict=True):
        history = [[(0, change.digest)] for change in changes]
        origin = OUTSIDE.origin(WORK)
        assert one in [bare(each) for h in history for each in expected([record], h, origin)]
