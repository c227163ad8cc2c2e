"""Records that change on their way, while copiers are killed, race, and get another change."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.fleet import PLAIN
from tests.support.clusters.forgetful import Proxied, Trouble, faster
from tests.support.copying.chaos import Copiers, parts
from tests.support.logs.change_scene import ChangeScene
from tests.support.logs.changed import CHANGES
from tests.support.mirror import Mirror
from tests.support.network.proxy import Proxy
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
ONE_EACH = {name: [name] for name in CHANGES}
EDITED = {
    "identical": ["none", "constant", "ids", "redact", "headers"],
    "dropping": ["all", "key", "tombstones"],
    "any": [*CHANGES],
}
"""Topics whose change may be another one in each round; of the last one offsets become mapped."""


@pytest.mark.parametrize("offsets", ["auto", pytest.param("mapped", marks=pytest.mark.soak)])
def test_copiers_are_killed_and_race_under_every_change_and_the_file_is_edited(
    tmp_path: Path,
    source: LocalCluster,
    lone: SharedCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    soak_seconds: int,
    offsets: str,
) -> None:
    """Several copiers of a slice race where offsets are mapped; else old records forbid that."""
    played = 0
    for rounds in parts(2, 10, soak_seconds):
        scene = ChangeScene(
            Mirror(
                tmp_path,
                source,
                lone,
                new_name("changed"),
                records={"offsets": offsets, "fill": "1000000"},
                timeout="4s",
            ),
            rng,
            ONE_EACH | EDITED,
            copiers=copiers,
        )
        try:
            scene.begin()
            for _ in range(rounds):
                scene.play(1 if offsets == "auto" else 3, longest=8.0 if soak_seconds else 2.0)
                scene.edit()
            scene.finish()
            records = scene.compare()
        finally:
            scene.close()
        played += rounds
        sys.stderr.write(f"{played} rounds ({offsets}), {records} records, no difference\n")


@pytest.mark.soak
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_copiers_die_at_each_step_of_another_opening(
    tmp_path: Path,
    source: LocalCluster,
    lone: SharedCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    offsets: str,
) -> None:
    records = {"offsets": offsets, "fill": "1000000"}
    mirror = Mirror(tmp_path, source, lone, new_name("step"), records=records, timeout="2s")
    scene = ChangeScene(mirror, rng, EDITED, copiers=copiers)
    try:
        scene.begin()
        scene.play(1)
        for number in range(1, 9):
            scene.edit()
            scene.die_at(number, before=rng.random() < 0.5, longest=8.0)
        scene.finish()
        there = scene.compare()
    finally:
        scene.close()
    sys.stderr.write(f"8 steps ({offsets}), {there} records, no difference\n")


@pytest.mark.chaos
@pytest.mark.soak
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_runs_that_freeze_and_lose_answers_under_changes(
    tmp_path: Path,
    source: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    copiers: Copiers,
    soak_seconds: int,
    offsets: str,
) -> None:
    """A target that forgets producer ids each second, as in `test_forgetful`."""
    check = {"producer.id.expiration.check.interval.ms": "1000"}
    played, struck = 0, Counter[str]()
    with SharedCluster(home=tmp_path / "kafka", properties=check, listeners=PLAIN) as target:
        proxy = Proxy(target)
        trouble = Trouble(proxy, target, rng)
        try:
            for rounds in parts(2, 10, soak_seconds):
                records = {"offsets": offsets, "fill": "1000000"}
                name = new_name("forget")
                mirror = Proxied(tmp_path, source, target, name, records=records, timeout="4s")
                scene = ChangeScene(mirror, rng, ONE_EACH | EDITED, copiers=copiers)
                try:
                    scene.begin()
                    with faster():
                        for _ in range(rounds):
                            struck[trouble.strike(scene.run())] += 1
                            trouble.wake_due()
                            if rng.random() < 0.5:
                                scene.edit()
                        trouble.wake_due(everything=True)
                    scene.stop()
                    scene.run().catch_up()
                    there = scene.compare()
                finally:
                    scene.close()
                played += rounds
                text = f"{played} rounds ({offsets}), {dict(struck)}, {there} records"
                sys.stderr.write(f"{text}, no difference\n")
        finally:
            proxy.close()
