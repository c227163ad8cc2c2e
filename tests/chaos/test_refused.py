"""Copiers that are killed or race while the target refuses records: each is left out, none else."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.copying.chaos import Copiers, catch_up, drain, endless, parts
from tests.support.copying.quarantine import begin, held
from tests.support.kafka import Record, consume, create_topic
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.ledger import Ledger
from towpath.ledger.quarantine import writer
from towpath.model.nouns import Mode
from towpath.records.landing import refusals
from towpath.records.work import CopySlice
from towpath.runtime.clock import now_ms

pytestmark = [pytest.mark.broker, pytest.mark.chaos]
NewName = Callable[[str], str]
LARGE = random.Random(7).randbytes(30_000)
SPOTS = ("before the topic", "behind the topic", "before the ledger", "behind the ledger")


@dataclass
class Refusing:
    """A topic with records that the target refuses, and copiers of it."""

    mirror: Mirror
    rng: random.Random
    old: bool
    written: int = 0
    large: set[int] = field(default_factory=set)
    copiers: Copiers = field(default_factory=Copiers)

    def create(self) -> None:
        """Create the topic on both sides, and begin."""
        create_topic(self.mirror.source.bootstrap, self.mirror.topic)
        small = {"max.message.bytes": "20000"}
        create_topic(self.mirror.target.bootstrap, self.mirror.topic, config=small)
        self.mirror.sections = (
            f"changes: [{{topics: ['{self.mirror.topic}'], undeliverable: quarantine}}]\n"
        )
        begin(self.mirror)

    def write(self, count: int) -> None:
        """Write records, alone or in batches of several; one in five is too large."""
        producer = Producer(
            {"bootstrap.servers": self.mirror.source.bootstrap, "linger.ms": 5,
             "batch.num.messages": self.rng.choice((1, 1, 6, 12)), "enable.idempotence": True}
        )  # fmt: skip
        at = now_ms() - (40 * 86_400_000 if self.old else 0)
        for number in range(count):
            large = number == 7 or self.rng.random() < 0.2
            self.large |= {self.written} if large else set()
            value = b"%d:" % self.written + (LARGE if large else b"")
            producer.produce(self.mirror.topic, value, b"k", 0, timestamp=at)
            self.written += 1
        producer.flush()

    def finish(self) -> None:
        """Copy the rest, then compare."""
        self.copiers.kill_all()
        catch_up(self.mirror)
        there = consume(self.mirror.source.bootstrap, self.mirror.topic)
        assert [_number(each) for each in there] == [*range(self.written)], "the source is wrong"
        found = consume(self.mirror.target.bootstrap, self.mirror.topic)
        kept = [n for n in range(self.written) if n not in self.large]
        assert [_number(each) for each in found] == kept
        if self.mirror.books().mode is Mode.IDENTICAL:
            assert [each.offset for each in found] == kept
        else:
            assert self.mirror.records.get("offsets") == "mapped", self.mirror.books().receipt
        aside = Counter(each.key.offset for each in held(self.mirror))
        assert aside == Counter(self.large)
        books = self.mirror.books()
        left = [offset for each in books.refused for offset in range(each.first, each.end)]
        assert left == sorted(self.large)


def _number(record: Record) -> int:
    return int((record.value or b"").partition(b":")[0])


@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_killed_and_racing_copiers(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    soak_seconds: int,
    offsets: str,
) -> None:
    for rounds in parts(3, 8, soak_seconds):
        mirror = Mirror(tmp_path, source, target, new_name("refuse"), records={"offsets": offsets})
        scene = Refusing(mirror, rng, old=rng.random() < 0.5)
        scene.create()
        try:
            for _ in range(rounds):
                scene.write(rng.randrange(5, 60))
                for _ in range(rng.choice((1, 1, 2))):
                    [work] = mirror.slices()
                    scene.copiers.start(endless(work))
                time.sleep(rng.uniform(0.2, 2.5))
                victims = scene.copiers.alive
                scene.copiers.kill(rng.choice(victims))
                while len(victims) > rng.randrange(3):
                    scene.copiers.kill(rng.choice(victims))
            scene.finish()
        finally:
            scene.copiers.kill_all()
        sys.stderr.write(
            f"{rounds} rounds ({offsets}, old: {scene.old}): {scene.written} records,"
            f" {len(scene.large)} refused, generation {mirror.books().generation}\n"
        )


def _dying(work: CopySlice, spot: str) -> None:
    """Copy a slice, and die at a spot on the way of a refused record."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    put, append = writer.put, Ledger.append

    def put_and_die(*given: Any) -> None:
        put(*given)
        die()

    class Dying(Ledger):
        def append(self, *given: Any) -> None:
            if spot == SPOTS[3]:
                append(self, *given)
            die()

    patch = pytest.MonkeyPatch()
    if spot in SPOTS[:2]:
        patch.setattr(writer, "put", die if spot == SPOTS[0] else put_and_die)
    patch.setattr(refusals, "Ledger", Dying)
    drain(work)


@pytest.mark.soak
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_copiers_that_die_at_each_spot(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    offsets: str,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("dying"), records={"offsets": offsets})
    scene = Refusing(mirror, rng, old=False)
    scene.create()
    for spot in SPOTS:
        scene.write(20)
        [work] = mirror.slices()
        process = scene.copiers.start(endless(work), partial(_dying, spot=spot))
        process.join(60)
        assert process.exitcode == -9, spot
    scene.finish()
