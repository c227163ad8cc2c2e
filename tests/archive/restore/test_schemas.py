"""Schemas come back before records: each id in a restored record means what it meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archived_schemas import SchemaArchive
from tests.support.archive.schema_restores import SchemaScene, ids_in, ids_or_none, named, topics_of
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


def assert_answers(theirs: LocalRegistry, scene: SchemaScene) -> None:
    """Assert that the target's registry means the same by each archived id."""
    for (subject, version), (number, text) in scene.held.items():
        assert theirs.ask("GET", f"/schemas/ids/{number}")["schema"] == text
        path = f"/subjects/{subject}/versions/{version}?deleted=true"
        assert theirs.ask("GET", path)["id"] == number


def late(registry: LocalRegistry, scene: SchemaScene) -> int:
    """Archive another schema, and a record that names it; return its id, which is free."""
    registry.ask("PUT", "/mode", {"mode": "IMPORT"})
    number = registry.register("late", record("Late", "x"), id=500, version=1)
    found = SchemaArchive(scene.folder, registry.url, scene.stored.store, include=["late"]).look()
    assert found.trouble == ""
    scene.stored.put(scene.topic, named([number], 60), start=60)
    return number


def test_schemas_come_back_before_the_records_that_name_them(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene = SchemaScene(tmp_path, new_name("schemed"), target, new_registry())
    theirs = new_registry()
    file = scene.file(theirs.url)
    planned = here("restore", "plan", file, "--output", "json")
    assert planned.code == 0, planned.said
    steps = [each for each in planned.json["steps"] if each["subject"] == "schemas"]
    assert {each["name"] for each in steps} == {name for name, _ in scene.held}
    assert "register" in here("restore", "plan", file).out
    assert theirs.schemas() == {}
    ran = here.on_spark("restore", "run", file)
    assert ran.code == 0, ran.said
    assert_answers(theirs, scene)
    assert ("gone", 1) not in theirs.schemas()
    assert ids_in(target.bootstrap, scene.topic) == scene.subjects * 20
    subject = f"{scene.topic}-value"
    assert (theirs.mode(subject), theirs.level(subject)) == (None, "FULL")
    again = here("restore", "plan", file, "--output", "json")
    assert (again.code, again.json["steps"]) == (0, [])


@pytest.mark.soak
def test_a_registry_that_is_away_stops_the_restore_before_it_begins(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene = SchemaScene(tmp_path, new_name("away"), target, new_registry())
    away = {"url": "http://127.0.0.1:1", "timeout": "1s"}
    ran = here.on_spark("restore", "run", scene.file("", target=away))
    assert ran.code == 4, ran.said
    assert scene.topic not in topics_of(target.bootstrap)


@pytest.mark.soak
@pytest.mark.parametrize(("ids", "versions"), [("keep", 0), ("translate", 1), ("keep", 2)])
def test_a_restore_that_is_killed_while_it_registers_leaves_no_mode_behind(
    target: SharedCluster,
    new_registry: NewRegistry,
    new_proxy: NewProxy,
    new_name: NewName,
    tmp_path: Path,
    here: Here,
    ids: str,
    versions: int,
) -> None:
    scene = SchemaScene(tmp_path, new_name("killed"), target, new_registry())
    theirs = new_registry()
    subject, sent = f"{scene.topic}-value", 0
    killed: list[bool] = []

    def dying(method: str, path: str, body: Body) -> Changed:
        nonlocal sent
        if method == "POST" and path.startswith(f"/subjects/{subject}/versions"):
            sent += 1
            if sent > versions and not killed:
                killed.append(True)
                run.kill9()
                return 503, {}
        return (503, {}) if killed and not again else body

    again: list[bool] = []
    proxy = new_proxy(theirs.url, dying)
    file = scene.file(proxy.url, ids=ids)
    run = Program(tmp_path, "restore", "run", file)
    wait_until(lambda: not run.running, "the restore is killed", 120)
    assert killed
    again.append(True)
    assert ids_or_none(target.bootstrap, scene.topic) == []
    ended = here.on_spark("restore", "run", file)
    assert ended.code == 0, ended.said
    assert (theirs.mode(subject), theirs.level(subject)) == (None, "FULL")
    assert {theirs.mode(name) for name, _ in scene.held} == {None}
    assert len(ids_in(target.bootstrap, scene.topic)) == 60
    if ids == "keep":
        assert_answers(theirs, scene)


@pytest.mark.soak
def test_an_older_version_brings_the_schemas_of_then_and_unknown_ids_are_told(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    ours, theirs = new_registry(), new_registry()
    scene = SchemaScene(tmp_path, new_name("then"), target, ours)
    then = scene.stored.log.state.version
    number = late(new_registry(), scene)
    now = scene.stored.log.state.version
    file = scene.file(theirs.url)
    planned = here("restore", "plan", file, "--version", str(now))
    assert planned.code == 0, planned.said
    assert "late" in planned.out
    assert f"without a schema that comes back ({number})" not in " ".join(planned.out.split())
    ran = here.on_spark("restore", "run", file, "--version", str(then))
    assert ran.code == 0, ran.said
    assert_answers(theirs, scene)
    assert "late" not in {name for name, _ in theirs.schemas()}


@pytest.mark.soak
def test_a_restore_that_follows_registers_what_comes_before_its_records(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    del here
    ours, theirs = new_registry(), new_registry()
    scene = SchemaScene(tmp_path, new_name("followed"), target, ours)
    scene.stored.file(schemas={"target": {"url": theirs.url}}, follow={"look": "200ms"})
    file = str(tmp_path / f"{scene.stored.name}.yaml")
    run = Program(tmp_path, "restore", "run", file, "--follow")
    try:
        wait_until(lambda: scene.restored == 60, "all is restored", 120)
        late(new_registry(), scene)
        wait_until(lambda: scene.restored == 61, "the new record is restored", 60)
        assert json.loads(theirs.version("late")["schema"])["name"] == "Late"
    finally:
        run.kill9()
