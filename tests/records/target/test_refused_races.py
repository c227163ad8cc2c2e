"""Copiers that race while the target refuses records: each other record is there once."""

from __future__ import annotations

import os
import random

import pytest

from tests.support.racing import LINK, WORK, World
from tests.support.refusing import Refusing, StrictLeader, mixed, placed
from towpath.ledger import entries
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.model.nouns import Mode

ROUNDS = int(os.environ.get("TOWPATH_SOAK_ROUNDS") or 1)


@pytest.mark.parametrize("mapped", [False, True], ids=["identical", "mapped"])
@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.soak) for n in range(8, 200 * ROUNDS))]
)
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


def books_of(world: World) -> PartitionBooks:
    books = LinkBooks(LINK)
    for each in world.ledger:
        entry = entries.decode(*each)
        if entry is not None:
            books.take(entry)
    return books.of(WORK.source)
