"""Copiers that race while the target refuses records: each other record is there once."""

from __future__ import annotations

import random

import pytest

from tests.support.copying.racing import LINK, WORK, World
from tests.support.copying.refusing import LIMIT, Refusing, StrictLeader, mixed, placed
from tests.support.logs.batches import batch, numbered
from tests.support.session.seeds import seeded
from towpath.ledger import entries
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.model.nouns import Mode
from towpath.wire.plain import Record

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mapped", [False, True], ids=["identical", "mapped"])
@seeded(4, 200)
def test_each_record_that_the_target_takes_is_there_once(seed: int, mapped: bool) -> None:
    rng = random.Random(seed)
    made, large = mixed(rng)
    world = World(rng, made, leader=StrictLeader(), calm=True, mapped=mapped, made=Refusing)
    for _ in range(rng.randrange(400)):
        world.anything()
    world.finish()
    there, kept = placed(world.leader), [n for n in range(world.records) if n not in large]
    assert [number for _, number in there] == kept
    books = books_of(world)
    assert books.mode is (Mode.MAPPED if mapped else Mode.IDENTICAL)
    assert mapped or [offset for offset, _ in there] == kept
    left = [offset for each in books.refused for offset in range(each.first, each.end)]
    assert left == sorted(large)


def racing(mapped: bool) -> World:
    """Return a world in which the target refuses the fourth of ten records."""
    values = [b"%d:" % n + b"x" * (LIMIT if n == 3 else 0) for n in range(10)]
    made = [batch([each]) for each in numbered([Record(b"k", v, (), 1) for v in values])]
    rng = random.Random(1)
    return World(
        rng, made, leader=StrictLeader(), restless=0, calm=True, mapped=mapped, made=Refusing
    )


def finished(world: World) -> None:
    """Let all copiers die and a last one do the rest; each record is there once."""
    for each in world.copiers:
        each.die()
    world.finish()
    assert [number for _, number in placed(world.leader)] == [0, 1, 2, *range(4, 10)]


@pytest.mark.parametrize("mapped", [False, True], ids=["identical", "mapped"])
@pytest.mark.parametrize("asked", ["read", "earliest", "log_ends", "states", "fetch"])
@pytest.mark.parametrize("reached", [3, 4, 6, 10])
def test_who_opens_while_another_leaves_a_record_out_counts_nothing_by_what_it_knew(
    reached: int, asked: str, mapped: bool
) -> None:
    world = racing(mapped)
    first, second = Refusing(world), Refusing(world)
    world.copiers = [first, second]
    first.run(lambda: first.refuses)
    world.once[asked] = lambda: first.run(lambda: world.leader.end >= reached)
    second._open()
    for _ in range(9):
        second.go_on()
    if second.lane is not None:
        second._tell(second.lane)
    finished(world)


def test_who_opens_a_partition_first_beside_another_does_not_begin_anew_behind_its_fence() -> None:
    world = racing(False)
    first, second = Refusing(world), Refusing(world)
    world.copiers = [first, second]
    world.once["append"] = lambda: first.run(lambda: world.leader.end == 4 and first.open)
    second._open()
    first.die()
    second.run(lambda: second.done)
    finished(world)


def books_of(world: World) -> PartitionBooks:
    books = LinkBooks(LINK)
    for each in world.ledger:
        entry = entries.decode(*each)
        if entry is not None:
            books.take(entry)
    return books.of(WORK.source)
