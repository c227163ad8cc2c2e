"""Targets that freeze for longer than any request may take, while a restore is killed or waits."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import soak_rounds
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.program import Program
from towpath.runtime.clock import now_ms

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(2400),
]
NewName = Callable[[str], str]
PARTITIONS = (0, 1, 2)
COUNT = 60_000
TIMEOUT, FROZEN = "3s", (8.0, 15.0)
DAY = 86_400_000
SHAPES: dict[str, dict[str, Any]] = {
    "renamed": {},
    "filtered": {"filter": [{"drop": [{"key": {"prefixes": ["key 1"]}}]}]},
    "fewer": {"partitions": [{"count": 2, "place": "key"}]},
}
Told = tuple[object, ...]


def told(record: Record) -> Told:
    return record.key, record.value, record.headers, record.timestamp


class FrozenScene:
    """One archive, restored in several shapes into a target that freezes."""

    def __init__(
        self, folder: Path, archive: Archive, target: SharedCluster, rng: random.Random
    ) -> None:
        self.folder, self.archive, self.target, self.rng = folder, archive, target, rng
        self.topic = f"{archive.name}.orders"
        self.started: list[Program] = []
        self.copy = ""

    def say(self, number: int, shape: str) -> None:
        """Write a file that restores in a shape, under another name."""
        self.copy = f"{self.topic}.{number}.{shape}"
        rules = {
            key: [{"topics": [self.topic], **each} for each in value]
            for key, value in SHAPES[shape].items()
        }
        self.archive.write(
            target={"bootstrap": self.target.bootstrap, "request_timeout": TIMEOUT},
            restore={
                "name": f"{self.archive.name}-{number}-{shape}",
                "topics": {"rename": self.copy},
                "receipts": "100ms",
                "memory": "8MiB",
                "retention": "unlimited",
                **rules,
            },
        )

    def start(self, *more: str) -> Program:
        words = "restore", "run", str(self.archive.file), *more
        self.started.append(Program(self.folder, *words, name=f"restore-{len(self.started)}"))
        return self.started[-1]

    def some_are_there(self, run: Program) -> None:
        """Wait until some records are on the target, or all."""
        wait_until(lambda: "phase=restoring" in run.said or not run.running, "it begins", 180)
        wait_until(lambda: not run.running or self.log_end() > 0, "some are there", 120)

    def log_end(self) -> int:
        return end_offsets(self.target.bootstrap, self.copy)[1]

    def freeze(self, run: Program, *, kills: bool) -> None:
        """Freeze the target, and kill the restore meanwhile, or let it wait."""
        self.target.pause(1)
        try:
            time.sleep(self.rng.uniform(*FROZEN))
            if kills:
                run.kill9()
                self.start()  # which meets a target that does not answer
                time.sleep(self.rng.uniform(0, 6))
        finally:
            self.target.resume(1)

    def compare(self, shape: str) -> int:
        """Compare what is on the target with the archive. Returns how many records there are."""
        wanted = {each: self.archive.records(self.topic, each) for each in PARTITIONS}
        there = PARTITIONS[:2] if shape == "fewer" else PARTITIONS
        found = {each: consume(self.target.bootstrap, self.copy, [each]) for each in there}
        if shape == "renamed":
            assert found == wanted
        elif shape == "filtered":
            kept = {
                number: [told(each) for each in some if not (each.key or b"").startswith(b"key 1")]
                for number, some in wanted.items()
            }
            assert {number: [*map(told, some)] for number, some in found.items()} == kept
        else:
            before = Counter(told(each) for some in wanted.values() for each in some)
            assert Counter(told(each) for some in found.values() for each in some) == before
        return sum(map(len, found.values()))


@pytest.fixture
def scene(
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    here: Here,
    rng: random.Random,
) -> Iterator[FrozenScene]:
    archive = Archive(tmp_path, source, new_name("frozen"), segments={"max_messages": 4000})
    made = FrozenScene(tmp_path, archive, target, rng)
    create_topic(source.bootstrap, made.topic, len(PARTITIONS), {"retention.ms": "-1"})
    since = now_ms() - 40 * DAY
    some = [_record(rng, number, since + number) for number in range(COUNT)]
    produce(source.bootstrap, made.topic, some, {"compression.type": "lz4"})
    ran = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    yield made
    for each in made.started:
        each.close()


def _record(rng: random.Random, number: int, timestamp: int) -> Record:
    key = rng.choice((None, b"", b"key %d" % (number % 197)))
    headers = rng.choice(((), (("n", b"%d" % number), ("n", None))))
    value = b"%d " % number + rng.randbytes(rng.randrange(1500))
    return Record(key, value, headers, timestamp, partition=rng.choice(PARTITIONS))


def test_a_target_that_freezes_loses_and_doubles_nothing(scene: FrozenScene) -> None:
    for number in range(soak_rounds() or 2):
        for shape in SHAPES:
            scene.say(number, shape)
            run = scene.start()
            scene.some_are_there(run)
            at = scene.log_end()
            kills = scene.rng.random() < 0.6
            if run.running:
                scene.freeze(run, kills=kills)
            for each in scene.started[-2:]:
                if each.running:
                    assert each.wait(300) in (0, 3, 4), each.said
            ended = scene.start("--verify")
            assert ended.wait(300) == 0, ended.said
            count = scene.compare(shape)
            told_so = f"{shape}: frozen at {at}, killed: {kills}; {count} records, no difference\n"
            sys.stderr.write(told_so)
