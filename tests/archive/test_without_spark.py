"""Archives and restores on this machine, for which neither Spark nor Java is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.bare_base import towpath
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.program import environment

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

    commands = [
        (what, verb, archive.file, *more, "--output", "json")
        for what, verb, *more in (
            ("archive", "run", "--until-caught-up"),
            ("archive", "verify", "--deep", "--parallelism", "1"),
            ("archive", "compact", "--now"),
            ("restore", "run", "--verify"),
        )
    ]
    done = towpath(environment() | java, *commands)
    assert [each.returncode for each in done] == [0] * 4, done
    _, verified, _, restored = (json.loads(each.stdout) for each in done)
    assert verified["partitions"]
    assert restored["comparison"]["proven"]
    there = consume(source.bootstrap, topic, (0, 1))
    assert len(there) == 200
    assert consume(target.bootstrap, f"{topic}.restored", (0, 1)) == there
