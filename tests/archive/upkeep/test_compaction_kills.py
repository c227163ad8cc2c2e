"""Compactions that are killed at any step lose and double nothing, and the next one ends them."""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path

import pytest

from tests.support.archive.compacting import compacted, held_records, objects
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.victims import COMPACTION, victim
from tests.support.copying.chaos import soak_rounds

pytestmark = pytest.mark.slow


def kill_rounds(folder: Path, rng: random.Random, rounds: int) -> None:
    whole = MixedArchive(folder / "whole")
    whole.folder.mkdir()
    whole.config(grace="0s")
    records = whole.fill(rng, partitions=2, segments=9)
    wanted = {n: held_records(whole.store, whole.log.state, partition(n)) for n in records}
    before = len(whole.log.state.table())
    copies = MixedArchive(folder / "counted")
    shutil.copytree(whole.folder / "store", copies.folder / "store")
    copies.config(grace="0s")
    steps = int(victim(COMPACTION, copies.file, 0).stdout)
    assert steps > 40
    found = set()
    for number in range(rounds):
        archive = MixedArchive(folder / f"killed-{number}")
        shutil.copytree(whole.folder / "store", archive.folder / "store")
        config = archive.config(grace="0s")
        step = rng.randint(1, steps)
        assert victim(COMPACTION, archive.file, step).returncode == -signal.SIGKILL, step
        for n, each in wanted.items():
            assert held_records(archive.store, archive.log.state, partition(n)) == each, step
        left = len(archive.log.state.table())
        found.add(left)
        done = compacted(config)
        assert not done.failed
        for n, each in wanted.items():
            assert held_records(archive.store, archive.log.state, partition(n)) == each, step
        named = {each.place.key for each in archive.log.state.table() if each.place}
        assert objects(archive.store, REGION) == named, step
        assert not done.unsettled
        shutil.rmtree(archive.folder)
    assert len(found) > 1 or rounds < 20, (before, found)


def test_a_compaction_that_is_killed_loses_and_doubles_nothing(
    tmp_path: Path, rng: random.Random
) -> None:
    kill_rounds(tmp_path, rng, 2)


@pytest.mark.soak
def test_200_compactions_that_are_killed(tmp_path: Path, rng: random.Random) -> None:
    kill_rounds(tmp_path, rng, soak_rounds() or 200)
