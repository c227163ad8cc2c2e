"""Topics of transactions that are open longer than a segment, compacted and followed meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.archive.archiving import Archive
from tests.support.archive.egress_scene import Scene
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import (
    PATIENCE,
    Record,
    consume,
    create_topic,
    grow,
    produce,
    wait_until,
)
from tests.support.program import Program
from towpath.archive.model import Segment
from towpath.archive.write import goal

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.timeout(2400),
]
NewName = Callable[[str], str]
LONG = 50
"""Short transactions during one long one, which is many times as old as a segment may be."""
EACH_SECOND = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 2}
EACH_MINUTE = EACH_SECOND | {"schedule": "0 * * * * *"}
MINUTES = 5
PATIENT = 20 * 60


class Transactions(Scene):
    """Short transactions while a long one is open all the time; some of them are aborted."""

    LONG, PAUSE = LONG, 0.1

    def _write(self) -> None:
        long, short = self._producer("long"), self._producer("short")
        while not self._over.is_set():
            long.begin_transaction()
            self._meanwhile(long, short)
            self._end_one(long, self._commits_long())

    def _meanwhile(self, long: Producer, short: Producer) -> None:
        number = 0
        for _ in range(self.LONG):
            short.begin_transaction()
            for producer in (short, short, long):
                for partition in self._partitions_of(producer is long):
                    number += 1
                    made = self._record(number, partition)
                    with suppress(KafkaException):  # it does not know a new partition yet
                        producer.produce(self.topic, partition=partition, **made)
            self._end_one(short, self._is_lucky())
            if self._over.wait(self.PAUSE):
                break

    def _partitions_of(self, _is_long: bool) -> range:
        return self.partitions

    def _commits_long(self) -> bool:
        return self._is_lucky()

    def _is_lucky(self) -> bool:
        return self._rng.random() > 0.3

    def _producer(self, which: str) -> Producer:
        made = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": f"{which}-{self.topic}",
                "topic.metadata.refresh.interval.ms": 500,
                "transaction.timeout.ms": 900_000,
            }
        )
        made.init_transactions(PATIENCE)
        return made

    def _end_one(self, producer: Producer, commits: bool) -> None:
        producer.flush(PATIENCE)
        if commits:
            with suppress(KafkaException):  # a record found no partition
                producer.commit_transaction(PATIENCE)
                return
        producer.abort_transaction(PATIENCE)


class SlowTransactions(Transactions):
    """Transactions of six minutes in one partition, of moments in all.

    Attributes:
        lasted: The seconds for which each long one was open.
        seen: All segments of the archive, also those that were compacted meanwhile.
    """

    LONG, PAUSE = 360, 1.0

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.lasted: list[float] = []
        self.seen: dict[int, dict[tuple[int, int, int], Segment]] = {n: {} for n in self.partitions}
        self._ends = cycle((True, False))

    def reach(self, seconds: float = 180) -> None:
        """Wait for nothing: what is new may be archived in eleven minutes."""

    def look(self) -> Mapping[int, set[int]]:
        """Look at the segments; return the levels that each partition has had."""
        for partition, seen in self.seen.items():
            with suppress(Exception):  # there is no archive yet
                for each in self.archive.segments(self.topic, partition):
                    seen[each.level, each.start, each.end] = each
        return {n: {level for level, _, _ in seen} for n, seen in self.seen.items()}

    def made(self, partition: int) -> list[int]:
        """Return when each segment was archived, in ms."""
        seen = sorted(self.seen[partition].items())
        return [each.created for (level, _, _), each in seen if level == 0]

    def _meanwhile(self, long: Producer, short: Producer) -> None:
        began = time.monotonic()
        super()._meanwhile(long, short)
        self.lasted.append(time.monotonic() - began)

    def _commits_long(self) -> bool:
        return next(self._ends)

    def _partitions_of(self, is_long: bool) -> range:
        return self.partitions[:1] if is_long else self.partitions


def followed(scene: Scene, target: SharedCluster, folder: Path) -> Program:
    """Start a restore that follows the archive."""
    scene.archive.write(
        metrics={},  # the run has the address
        target={"bootstrap": target.bootstrap},
        restore={
            "name": f"{scene.topic}.copy",
            "topics": {"rename": "{topic}.copy"},
            "follow": {"look": "200ms"},
            "retention": "unlimited",
        },
    )
    words = ("restore", "run", str(scene.archive.file), "--follow")
    return Program(folder, *words, name="follow")


@pytest.mark.spark
def test_what_is_behind_a_transaction_that_hangs_is_told(
    source: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also records of others: nobody reads them before it ends."""
    name = new_name("hangs")
    topic = create_topic(source.bootstrap, f"{name}.a")
    archive = Archive(tmp_path, source, name)
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(20)])
    settings = {"bootstrap.servers": source.bootstrap, "transactional.id": name}
    hanging = Producer(settings | {"transaction.timeout.ms": 900_000})
    hanging.init_transactions(PATIENCE)
    hanging.begin_transaction()
    hanging.produce(topic, b"open")
    hanging.flush()
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(20, 50)])
    monkeypatch.setattr(goal, "_HELD", 3.0)
    told = f"{topic}-0: a transaction is open since offset 20, and 31 offsets from there on"
    ended = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert ended.code == 3, ended.said
    assert told in ended.said
    assert told in here("archive", "status", str(archive.file)).out
    monkeypatch.setattr(goal, "_HELD", 300.0)
    ending = threading.Timer(5.0, lambda: hanging.abort_transaction(PATIENCE))
    ending.start()
    ended = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    ending.join()
    assert ended.code == 0, ended.said
    assert archive.records(topic) == consume(source.bootstrap, topic)


@pytest.mark.spark
def test_no_segment_is_late_and_compaction_goes_on(
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    rng: random.Random,
    here: Here,
) -> None:
    scene = Transactions(
        tmp_path, source, new_name("transactions"), rng, compaction=[EACH_SECOND], grace="2s"
    )
    with scene.running() as run:
        scene.reach()
        follow = followed(scene, target, tmp_path)
        try:
            scene.last()
            grow(scene.bootstrap, scene.topic, 3)
            scene.partitions = range(3)
            scene.reach()
            scene.last()

            def is_compacted() -> bool:
                levels = [
                    {each.level for each in scene.archive.segments(scene.topic, number)}
                    for number in scene.partitions
                ]
                return all(found - {0} for found in levels)

            wait_until(is_compacted, "all partitions are compacted", 120)
            for said in (run.said, follow.said):
                assert "waits for a part" not in said
            assert "archive.left_out" not in run.said, run.said[-6000:]
            assert "run.trouble" not in run.said, run.said[-6000:]
            assert follow.running, follow.said[-6000:]
        finally:
            follow.interrupt() if follow.running else None
            follow.close()
    compare(scene, target, here)


def compare(scene: Transactions, target: SharedCluster, here: Here) -> None:
    """Archive and restore the rest; both copies hold what consumers see at the source."""
    scene.compare(here)
    gaps = [each.gaps for each in scene.archive.segments(scene.topic)]
    assert sum(each.marker for each in gaps) > LONG
    assert sum(each.aborted for each in gaps) > 0
    restored = here.on_spark("restore", "run", str(scene.archive.file))
    assert restored.code == 0, restored.said
    for partition in scene.partitions:
        wanted = consume(scene.bootstrap, scene.topic, (partition,))
        assert consume(target.bootstrap, f"{scene.topic}.copy", (partition,)) == wanted


@pytest.mark.spark
def test_segments_of_five_minutes(
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    rng: random.Random,
    here: Here,
) -> None:
    """It takes up to 20 minutes, and little of the processor."""
    scene = SlowTransactions(
        tmp_path,
        source,
        new_name("slow"),
        rng,
        segments={"max_age": f"{MINUTES}m"},
        compaction=[EACH_MINUTE],
        grace="2s",
        run={"heartbeat": "10s"},
    )
    with scene.running() as run:
        wait_until(lambda: 0 in scene.look()[1], "it archives", PATIENT)
        follow = followed(scene, target, tmp_path)

        def is_compacted() -> bool:
            assert run.running, run.said[-6000:]
            assert follow.running, follow.said[-6000:]
            assert "waits for a part" not in run.said + follow.said
            return all(levels - {0} for levels in scene.look().values())

        try:
            wait_until(is_compacted, "all partitions are compacted", PATIENT)
            assert "archive.left_out" not in run.said, run.said[-6000:]
            assert "run.trouble" not in run.said, run.said[-6000:]
        finally:
            follow.interrupt() if follow.running else None
            follow.close()
        for partition in scene.partitions:
            made = scene.made(partition)
            pauses = [after - before for before, after in pairwise(made)]
            assert pauses, made
            assert min(pauses) > (MINUTES - 1) * 60_000, made
    assert max(scene.lasted) > MINUTES * 60, scene.lasted
    assert len(scene.lasted) >= 2
    compare(scene, target, here)
