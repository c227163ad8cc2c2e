"""Copiers that take a mapped partition over from each other: no record is lost, none doubled."""

from __future__ import annotations

import random

import pytest

from tests.support.copying.racing import World, source
from tests.support.session.seeds import seeded

pytestmark = pytest.mark.slow


@seeded(6, 40)
def test_whatever_comes_when_each_record_is_there_once(seed: int) -> None:
    rng = random.Random(seed)
    world = World(rng, source(rng.randrange(1, 30), rng.randrange(1, 4)))
    for _ in range(rng.randrange(400)):
        world.anything()
    world.finish()
    assert world.copied() == list(range(world.records))
