"""A topic of long transactions in short segments, compacted and followed while it grows."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from tests.support.brokers import SharedCluster
from tests.support.egress_scene import Scene
from tests.support.here import Here
from tests.support.kafka import PATIENCE, consume, grow, wait_until
from tests.support.program import Program

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark(own=True),
    pytest.mark.timeout(1200),
]
NewName = Callable[[str], str]
LONG = 50
"""Short transactions during one long one, which is many times as old as a segment may be."""
EACH_SECOND = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 2}


class Transactions(Scene):
    """Short transactions while a long one is open all the time; some of them are aborted."""

    def _write(self) -> None:
        long, short = self._producer("long"), self._producer("short")
        number = 0
        while not self._over.is_set():
            long.begin_transaction()
            for _ in range(LONG):
                short.begin_transaction()
                for producer in (short, short, long):
                    for partition in self.partitions:
                        number += 1
                        made = self._record(number, partition)
                        with suppress(KafkaException):  # it does not know a new partition yet
                            producer.produce(self.topic, partition=partition, **made)
                self._end_one(short)
                if self._over.wait(0.1):
                    break
            self._end_one(long)

    def _producer(self, which: str) -> Producer:
        made = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": f"{which}-{self.topic}",
                "topic.metadata.refresh.interval.ms": 500,
            }
        )
        made.init_transactions(PATIENCE)
        return made

    def _end_one(self, producer: Producer) -> None:
        producer.flush(PATIENCE)
        if self._rng.random() > 0.3:
            with suppress(KafkaException):  # a record found no partition
                producer.commit_transaction(PATIENCE)
                return
        producer.abort_transaction(PATIENCE)


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
    words = ("restore", "run", str(scene.archive.file), "--follow", "--master", "local[2]")
    return Program(folder, *words, name="follow")


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
    scene.compare(here)
    gaps = [each.gaps for each in scene.archive.segments(scene.topic)]
    assert sum(each.marker for each in gaps) > LONG
    assert sum(each.aborted for each in gaps) > 0
    restored = here.on_spark("restore", "run", str(scene.archive.file))
    assert restored.code == 0, restored.said
    for partition in scene.partitions:
        wanted = consume(scene.bootstrap, scene.topic, (partition,))
        assert consume(target.bootstrap, f"{scene.topic}.copy", (partition,)) == wanted
