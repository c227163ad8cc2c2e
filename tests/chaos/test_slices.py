"""Copiers that are killed at random and race with each other: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import COMPACTED, PLAIN, TRANSACTIONAL, Scene, parts
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.chaos]
NewName = Callable[[str], str]


@pytest.mark.parametrize(
    ("offsets", "kinds", "short"),
    [
        ("auto", (PLAIN, TRANSACTIONAL), 4),
        ("mapped", (PLAIN, TRANSACTIONAL), 3),
        ("auto", (COMPACTED,), 3),
        ("ahead", (PLAIN, TRANSACTIONAL), 3),
    ],
    ids=["identical", "mapped", "compacted", "ahead"],
)
def test_killed_and_racing_copiers(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    soak_seconds: int,
    offsets: str,
    kinds: tuple[str, ...],
    short: int,
) -> None:
    played = 0
    for rounds in parts(short, 10, soak_seconds):
        ahead = offsets == "ahead"
        records = {"offsets": "auto" if ahead else offsets}
        mirror = Mirror(tmp_path, source, target, new_name("kill"), records=records)
        racing = COMPACTED not in kinds
        scene = Scene(mirror, rng, kinds, racing=racing, mapped=ahead, ahead=ahead)
        copied = scene.play_all(rounds)
        played += rounds
        sys.stderr.write(f"{played} rounds ({offsets}, {kinds}), {copied} records, no difference\n")
