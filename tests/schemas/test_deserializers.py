"""Confluent's own deserializers read every record on the target, which has its own registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, registries
from tests.support.registry import LocalRegistry, record
from tests.support.serialized import FORMATS, read, write

pytestmark = [pytest.mark.broker, pytest.mark.spark]
COUNT = 200


def test_each_migrated_record_is_read_on_the_target(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    # Ids of the source that mean nothing, or another schema, on a target without the source's.
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    ours.register("first", record("First", "x"), id=1000, version=1)
    ours.ask("PUT", "/mode", {"mode": "READWRITE"})
    for number in range(20):
        theirs.register(f"before-{number}", record(f"Before{number}", "x"))
    name = new_name("serialized")
    for each in FORMATS:
        create_topic(source.bootstrap, f"{name}-{each}", 3)
    written = write(source.bootstrap, ours.url, name, COUNT)
    # Topics and subjects get a prefix, as where several clusters become one.
    between = registries(ours.url, theirs.url, rename="eu.{subject}")
    file = Link(tmp_path, source, target, name, schemas=between, rename="eu.{topic}").file
    done = here.run(str(file), "--until-caught-up")
    assert done.code == 0, done.said
    moved = {(f"eu.{name}", number): held for (name, number), held in ours.schemas().items()}
    there = theirs.schemas()
    assert {at: id_ for at, (id_, _) in moved.items()}.items() <= {
        at: id_ for at, (id_, _) in there.items()
    }.items()
    assert read(target.bootstrap, theirs.url, f"eu.{name}", COUNT) == written
    assert here("schemas", "verify", str(file)).code == 0
