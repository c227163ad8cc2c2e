"""Archives and restores on this machine, for which neither Spark nor Java is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.program import Program

pytestmark = [pytest.mark.broker, pytest.mark.timeout(240)]


def test_a_topic_is_archived_verified_and_restored_without_java(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    name = new_name("alone")
    topic = create_topic(source.bootstrap, f"{name}.a", 2)
    produce(
        source.bootstrap,
        topic,
        [Record(b"k%d" % n, b"v%d" % n, (("h", b"%d" % n),), partition=n % 2) for n in range(200)],
    )
    archive = Archive(
        tmp_path,
        source,
        name,
        target={"bootstrap": target.bootstrap},
        restore={"retention": "unlimited", "topics": {"rename": "{topic}.restored"}},
    )
    java = {"JAVA_HOME": str(tmp_path / "no-java")}

    def towpath(what: str, verb: str, *more: str) -> Any:
        words = what, verb, str(archive.file), *more, "--output", "json"
        program = Program(tmp_path, *words, env=java, name=verb)
        assert program.wait() == 0, program.said
        return program.json

    towpath("archive", "run", "--until-caught-up")
    assert towpath("archive", "verify", "--deep", "--parallelism", "1")["partitions"]
    towpath("archive", "compact", "--now")
    assert towpath("restore", "run", "--verify")["comparison"]["proven"]
    there = consume(source.bootstrap, topic, (0, 1))
    assert len(there) == 200
    assert consume(target.bootstrap, f"{topic}.restored", (0, 1)) == there
