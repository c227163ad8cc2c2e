"""Restores that are killed, frozen and raced as a whole, and targets that lose what they had.

Whatever happens, what is on the target in the end is what the archive holds: each record once, at
its offset, with its time, key, value and headers.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from tests.support.archive.archiving import Archive
from tests.support.archive.old_topics import OLD, PARTITIONS, fill, record
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.losses import lose
from tests.support.copying.chaos import soak_rounds
from tests.support.here import MASTER, Here
from tests.support.kafka import (
    PATIENCE,
    consume,
    create_topic,
    end_offsets,
    produce,
    set_config,
    topic_config,
    wait_until,
)
from tests.support.program import Program
from towpath.runtime.clock import now_ms

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark(own=True),
    pytest.mark.alone,
    pytest.mark.timeout(3000),
]
NewName = Callable[[str], str]
FREEZE = (1.0, 6.0)


class Scene:
    """One archive, restored again and again under other names."""

    def __init__(
        self, folder: Path, archive: Archive, target: SharedCluster, rng: random.Random
    ) -> None:
        self.folder, self.archive, self.target, self.rng = folder, archive, target, rng
        self.number = 0
        self.started: list[Program] = []

    def begin(self, **rules: Any) -> None:
        """Restore under another name from now on."""
        self.number += 1
        self.say(**rules)

    def say(self, **rules: Any) -> None:
        """Write the file, with further rules."""
        self.archive.write(
            target={"bootstrap": self.target.bootstrap, "request_timeout": "5s"},
            restore={
                "name": f"{self.archive.name}-{self.number}",
                "topics": {"rename": f"{{topic}}.{self.number}"},
                "receipts": "100ms",
                "memory": "8MiB",
                "retention": "archived",
                **rules,
            },
        )

    def start(self) -> Program:
        """Start a restore as a process of its own, sometimes on Spark."""
        master = self.rng.choice([(), (), (), MASTER])
        words = "restore", "run", str(self.archive.file), *master
        run = Program(self.folder, *words, name=f"restore-{len(self.started)}")
        self.started.append(run)
        return run

    def restoring(self, run: Program) -> None:
        """Wait until it restores, or has ended, and then for a moment."""
        wait_until(lambda: "phase=restoring" in run.said or not run.running, "it restores", 180)
        time.sleep(self.rng.uniform(0, 3))

    def disturb(self) -> str:
        """Start a restore and do something to it; say what."""
        all_of_them = self.kill, self.kill_task, self.freeze, self.freeze_broker, self.race
        what = self.rng.choice(all_of_them)
        run = self.start()
        self.restoring(run)
        if run.running:
            what(run)
        return what.__name__

    def kill(self, run: Program) -> None:
        run.kill9()

    def kill_task(self, run: Program) -> None:
        """Kill what runs a slice; the restore goes on by itself."""
        with suppress(psutil.Error, IndexError):
            self.rng.choice(run.slices() or run.workers()).kill()
        assert run.wait(300) == 0, run.said

    def freeze(self, run: Program) -> None:
        """Freeze all its processes, let another one take over, and wake them up again."""
        with suppress(psutil.Error):
            frozen = [psutil.Process(run._process.pid), *run.children()]
            for each in frozen:
                each.send_signal(signal.SIGSTOP)
            other = self.start()
            wait_until(lambda: not other.running or "restoring" in other.said, "another one", 180)
            time.sleep(self.rng.uniform(*FREEZE))
            for each in frozen:
                each.send_signal(signal.SIGCONT)
            other.wait(300)
        run.wait(300)

    def freeze_broker(self, run: Program) -> None:
        self.target.pause(1)
        time.sleep(self.rng.uniform(*FREEZE))
        self.target.resume(1)
        assert run.wait(300) == 0, run.said

    def race(self, run: Program) -> None:
        """A second restore is refused, or finds nothing left to do."""
        other = self.start()
        assert other.wait(300) in (0, 3, 4), other.said
        assert run.wait(300) == 0, run.said

    def finish(self) -> None:
        """Restore the rest without trouble."""
        ended = self.start()
        assert ended.wait(300) == 0, ended.said

    def name(self, topic: str) -> str:
        return f"{topic}.{self.number}"

    def compare(self, topics: list[str]) -> int:
        """Compare the target with the archive; return how many records there are."""
        count = 0
        for topic in topics:
            for partition in PARTITIONS:
                wanted = self.archive.records(topic, partition)
                for isolation in ("read_committed", "read_uncommitted"):
                    found = consume(
                        self.target.bootstrap, self.name(topic), (partition,), isolation=isolation
                    )
                    assert found == wanted
                count += len(wanted)
        return count

    def delete(self, topics: list[str]) -> None:
        admin = AdminClient({"bootstrap.servers": self.target.bootstrap})
        for each in admin.delete_topics([self.name(topic) for topic in topics]).values():
            each.result(PATIENCE)

    def close(self) -> None:
        for each in self.started:
            each.close()


@pytest.fixture(params=["parquet", "batches"])
def scene(
    request: pytest.FixtureRequest,
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    rng: random.Random,
) -> Iterator[Scene]:
    name = new_name("soaked")
    archive = Archive(
        tmp_path,
        source,
        name,
        format=request.param,
        segments={"max_messages": 700, "max_age": "1s"},
    )
    made = Scene(tmp_path, archive, target, rng)
    yield made
    made.close()


def test_restores_that_are_killed_frozen_and_raced(scene: Scene, source: SharedCluster) -> None:
    topics = fill(source, scene.archive.name, 6000)
    archived = scene.archive.start("--until-caught-up")
    assert archived.wait(300) == 0, archived.said
    for _ in range(soak_rounds() or 4):
        scene.begin()
        done = [scene.disturb() for _ in range(scene.rng.randrange(1, 4))]
        scene.finish()
        count = scene.compare(topics)
        sys.stderr.write(f"{scene.number}: {', '.join(done)}: {count} records, no difference\n")
        scene.delete(topics)


def test_a_target_that_loses_its_disk_is_told_and_restored_again(
    scene: Scene, source: SharedCluster, here: Here
) -> None:
    """What was acknowledged and is gone stops its partition; a topic made again is restored."""
    topics = fill(source, scene.archive.name, 3000)
    archived = scene.archive.start("--until-caught-up")
    assert archived.wait(300) == 0, archived.said
    scene.begin()
    run = scene.start()
    scene.restoring(run)
    if run.running:
        run.kill9()
    scene.finish()
    lost = scene.name(topics[0])
    lose(scene.target, {f"{lost}-0": 0.5, f"{lost}-1": 0.0})
    file = str(scene.archive.file)
    status = here("restore", "status", file)
    assert status.code == 3, status.said
    assert lost in status.out
    scene.delete(topics[:1])
    scene.finish()
    scene.compare(topics)
    made_again = scene.name(topics[0])
    assert topic_config(scene.target.bootstrap, made_again, "cleanup.policy") == "compact"


def test_old_records_outlive_an_hour_of_retention_until_they_are_released(
    scene: Scene, source: SharedCluster
) -> None:
    """The archived topic keeps an hour, and its records are 40 days old."""
    topic = create_topic(
        source.bootstrap, f"{scene.archive.name}.hour", len(PARTITIONS), {"retention.ms": "-1"}
    )
    since = now_ms() - OLD
    produce(source.bootstrap, topic, [record(scene.rng, n, since + n) for n in range(6000)])
    scene.archive.write(segments={"max_messages": 700, "max_age": "1s", "share": "0B"})
    archived = scene.archive.start("--until-caught-up")
    assert archived.wait(300) == 0, archived.said
    set_config(source.bootstrap, topic, "retention.ms", "3600000")
    archived = scene.archive.start("--until-caught-up")
    assert archived.wait(300) == 0, archived.said
    segments = [each for n in PARTITIONS for each in scene.archive.segments(topic, n)]
    last = next(each for each in reversed(segments) if each.place is not None)
    assert last.place is not None
    path = next(scene.folder.rglob(last.place.key.rpartition("/")[2]))
    away = path.rename(path.with_suffix(".away"))

    scene.begin(late={"looks": 1, "timeout": "100ms"})
    stopped = scene.start()
    assert stopped.wait(300) == 3, stopped.said
    time.sleep(5)  # brokers of the tests look once a second for what retention lets them delete
    restored, where = scene.name(topic), scene.target.bootstrap
    assert topic_config(where, restored, "retention.ms") == "-1"
    kept = [each for each in segments if each.place is None or each.place.key != last.place.key]
    wanted = sum(each.digest.records for each in kept)
    assert len(consume(where, restored, PARTITIONS)) == wanted > 1000
    away.rename(path)
    done = scene.start()
    assert done.wait(300) == 0, done.said
    assert topic_config(where, restored, "retention.ms") == "3600000"
    ends = [end_offsets(where, restored, n) for n in PARTITIONS]
    assert [end for _, end in ends] == [
        scene.archive.segments(topic, n)[-1].end for n in PARTITIONS
    ]
    wait_until(
        lambda: all(
            first == end for first, end in (end_offsets(where, restored, n) for n in PARTITIONS)
        ),
        "retention deletes what it may now",
    )
