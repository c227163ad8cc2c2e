"""Restores that are killed at each of their steps, in the driver or in a worker, lose nothing."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.archive.archiving import Archive
from tests.support.archive.old_topics import PARTITIONS, fill
from tests.support.clients.groups import commit_with, standing
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import soak_rounds
from tests.support.here import Here
from tests.support.kafka import PATIENCE, Record, consume, topic_config
from tests.support.program import environment

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(24000)]
NewName = Callable[[str], str]
Wanted = dict[tuple[str, int], list[Record]]
STOOD = (17, "note")
SEVERAL = 4
"""Restores at a time: a restore waits for seconds after a kill."""


class Rounds:
    """Restores of one archive, each to topics of its own."""

    def __init__(self, folder: Path, archive: Archive, target: SharedCluster) -> None:
        self.folder, self.archive, self.target = folder, archive, target
        self.played, self.wrong = list[str](), list[str]()
        self.steps = Counter[str]()

    def file(self, number: int) -> Path:
        """Write the file of a restore."""
        self.archive.write(
            target={"bootstrap": self.target.bootstrap},
            restore={
                "name": f"{self.archive.name}-{number}",
                "topics": {"rename": f"{{topic}}.{number}"},
                "receipts": "100ms",
                "retention": "archived",
            },
        )
        made = self.archive.file.with_name(f"{self.archive.name}-{number}.yaml")
        return self.archive.file.rename(made)

    def play(self, files: dict[str, int], seed: int, wanted: Wanted) -> None:
        """Let a process play some restores, by file and number; compare each one."""
        words = [sys.executable, "-m", "tests.support.archive.restore_victim", str(seed)]
        with (
            (self.folder / f"victim-{seed}.err").open("w") as err,
            subprocess.Popen(
                [*words, *files], env=environment(), stdout=subprocess.PIPE, stderr=err, text=True
            ) as victim,
        ):
            assert victim.stdout is not None
            for line in victim.stdout:
                said = json.loads(line)
                self._compare(files[said["file"]], said, wanted)
        if victim.returncode:
            self.wrong.append(f"the victim ended with {victim.returncode}")

    def _compare(self, number: int, said: dict[str, Any], wanted: Wanted) -> None:
        kills: list[str] = said["kills"]
        what = f"{number}: {'; '.join(kills) or 'not killed'}: code {said['code']}"
        differs = [
            f"{what}: {topic}-{partition} differs"
            for (topic, partition), records in wanted.items()
            for isolation in ("read_committed", "read_uncommitted")
            if consume(
                self.target.bootstrap, f"{topic}.{number}", (partition,), isolation=isolation
            )
            != records
        ]
        if said["code"]:
            differs.append(what)
        topics = {topic for topic, _ in wanted}
        name = next(each for each in topics if each.endswith("compacted"))
        if topic_config(self.target.bootstrap, f"{name}.{number}", "cleanup.policy") != "compact":
            differs.append(f"{what}: cleanup.policy is held back")
        group = standing(self.target, self.archive.name, f"{name}.{number}")
        if group != STOOD:
            differs.append(f"{what}: the group stands at {group}")
        self.wrong += differs
        self.steps.update(" ".join(each.split()[:1] + each.split(". ")[1:]) for each in kills)
        if kills:
            self.played.append(what)
        sys.stderr.write(f"{len(self.played)} {what}{'; '.join(['', *differs])}\n")
        if not differs:
            admin = AdminClient({"bootstrap.servers": self.target.bootstrap})
            for each in admin.delete_topics([f"{topic}.{number}" for topic in topics]).values():
                each.result(PATIENCE)


def test_restores_that_are_killed_at_any_step(
    source: SharedCluster,
    target: SharedCluster,
    tmp_path: Path,
    new_name: NewName,
    here: Here,
    rng: random.Random,
) -> None:
    rounds = soak_rounds() or 200
    name = new_name("stepped")
    segments = {"max_messages": 60, "max_age": "1s"}
    archive = Archive(tmp_path, source, name, segments=segments)
    topics = fill(source, name, 400)
    commit_with(source, name, next(each for each in topics if each.endswith("compacted")), *STOOD)
    done = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert done.code == 0, done.said
    wanted: Wanted = {(topic, n): archive.records(topic, n) for topic in topics for n in PARTITIONS}
    made = Rounds(tmp_path, archive, target)
    each = -(-rounds * 14 // 10 // SEVERAL) + 1  # a fifth end before they come to their step
    parts = [
        {str(made.file(number)): number for number in range(n * each, (n + 1) * each)}
        for n in range(SEVERAL)
    ]
    threads = [
        threading.Thread(target=made.play, args=(files, rng.getrandbits(32), wanted))
        for files in parts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stderr.write("".join(f"{count} {step}\n" for step, count in sorted(made.steps.items())))
    assert not made.wrong, "\n".join(made.wrong)
    assert len(made.played) >= rounds
