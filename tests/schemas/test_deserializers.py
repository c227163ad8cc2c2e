"""Confluent's own deserializers read every record on the target, which has its own registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.serialized import FORMATS, read, read_headers, write, write_headers
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import consume, create_topic
from tests.support.links import Link, registries
from tests.support.registries.guids import WithGuids
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import RegistryProxy

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


@pytest.mark.soak
def test_each_record_whose_header_names_its_schema_is_read_on_the_target(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_proxy: Callable[..., RegistryProxy],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    """The target gives each schema another GUID, as where it had to be changed."""
    ours, theirs = new_registry(), new_registry()
    for number in range(20):
        theirs.register(f"before-{number}", record(f"Before{number}", "x"))
    at_source = new_proxy(ours.url, WithGuids(ours).answer)
    at_target = new_proxy(theirs.url, WithGuids(theirs, "other").answer)
    name = new_name("guids")
    topic = f"{name}-orders"
    create_topic(source.bootstrap, topic, 3)
    written = write_headers(source.bootstrap, at_source.url, topic, COUNT)
    between = registries(at_source.url, at_target.url, ids="translate", strict=True)
    changes = f"[{{topics: ['{name}.*'], ids: {{}}}}]"
    file = Link(tmp_path, source, target, name, schemas=between, changes=changes).file
    done = here.run(str(file), "--until-caught-up")
    assert done.code == 0, done.said
    assert read_headers(target.bootstrap, at_target.url, topic, COUNT) == written
    ours_named, theirs_named = (
        {dict(each.headers)["__value_schema_id"] for each in consume(to, topic, range(3))}
        for to in (source.bootstrap, target.bootstrap)
    )
    assert (len(ours_named), len(theirs_named), ours_named & theirs_named) == (2, 2, set())
