"""Ids of schemas in restored records: kept, rewritten, or refused, and Confluent's readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.archive.schema_restores import SchemaScene, ids_in, named, topics_of
from tests.support.clients.serialized import FORMATS, read, write
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy, forwarded

pytestmark = [pytest.mark.broker, pytest.mark.spark]
_COUNT = 100
NewName = Callable[[str], str]
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


@pytest.mark.soak
def test_ids_of_records_follow_the_registry_of_the_target(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene = SchemaScene(tmp_path, new_name("translated"), target, new_registry())
    theirs = new_registry()
    for number in range(40):
        theirs.register(f"others-{number}", record(f"Other{number}", "x"))
    ran = here.on_spark("restore", "run", scene.file(theirs.url, ids="translate", strict=True))
    assert ran.code == 0, ran.said
    subject = f"{scene.topic}-value"
    texts = {number: text for (name, _), (number, text) in scene.held.items() if name == subject}
    wanted = [texts[number] for number in scene.subjects * 20]
    there = ids_in(target.bootstrap, scene.topic)
    assert min(there) > 40
    known = {number: theirs.ask("GET", f"/schemas/ids/{number}")["schema"] for number in set(there)}
    assert [known[number] for number in there] == wanted
    assert here.on_spark("restore", "run", scene.file(theirs.url, ids="translate")).code == 0
    assert len(ids_in(target.bootstrap, scene.topic)) == 60


@pytest.mark.soak
def test_ids_that_mean_something_else_on_the_target_stop_the_restore_before_it_begins(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene = SchemaScene(tmp_path, new_name("taken"), target, new_registry())
    theirs = new_registry()
    theirs.register("others", record("Another", "x"))
    for command in (("restore", "plan"), ("restore", "run")):
        ended = (here if command[1] == "plan" else here.on_spark)(*command, scene.file(theirs.url))
        assert ended.code == 2, ended.said
        assert "set `restore.schemas.ids: translate`" in ended.said
    assert scene.topic not in topics_of(target.bootstrap)
    assert len(theirs.schemas()) == 1


@pytest.mark.soak
def test_no_record_comes_where_the_registry_gives_other_ids(
    target: SharedCluster,
    new_registry: NewRegistry,
    new_proxy: NewProxy,
    new_name: NewName,
    tmp_path: Path,
    here: Here,
) -> None:
    scene = SchemaScene(tmp_path, new_name("ignored"), target, new_registry())
    theirs = new_registry()

    def ignoring(method: str, path: str, body: Body) -> Changed:
        if method == "PUT" and path.startswith("/mode"):
            return 200, {"mode": "IMPORT"}
        if body is not None and method == "POST":
            return {key: each for key, each in body.items() if key not in {"id", "version"}}
        return body

    for number in range(9):
        theirs.register("others", {"type": "fixed", "name": f"F{number}", "size": 1})
        theirs.ask("DELETE", "/subjects/others")
        theirs.ask("DELETE", "/subjects/others?permanent=true")
    proxy = new_proxy(theirs.url, ignoring)
    ran = here.on_spark("restore", "run", scene.file(proxy.url))
    assert ran.code == 3, ran.said
    assert "id" in ran.said
    assert scene.topic not in topics_of(target.bootstrap)


@pytest.mark.soak
def test_records_that_name_ids_without_a_schema_are_told(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene = SchemaScene(tmp_path, new_name("unknown"), target, new_registry())
    scene.stored.put(scene.topic, named([4711], 60), start=60)
    planned = here("restore", "plan", scene.file(new_registry().url))
    assert planned.code == 0, planned.said
    said = " ".join(planned.out.split())
    assert "1 schema id without a schema that comes back (4711)" in said


@pytest.mark.soak
@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_confluents_deserializers_read_all_that_comes_back(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: NewRegistry,
    new_name: NewName,
    tmp_path: Path,
    here: Here,
    ids: str,
) -> None:
    """Avro, Protobuf and JSON with references, from a real run to a registry of its own."""
    ours, theirs, name = new_registry(), new_registry(), new_name("decoded")
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    ours.register("first", record("First", "x"), id=1000, version=1)
    ours.ask("PUT", "/mode", {"mode": "READWRITE"})
    for number in range(20):
        theirs.register(f"before-{number}", record(f"Before{number}", "x"))
    for each in FORMATS:
        create_topic(source.bootstrap, f"{name}-{each}", 3)
    written = write(source.bootstrap, ours.url, name, _COUNT)
    more: dict[str, Any] = {} if ids == "keep" else {"strict": True}
    archive = Archive(
        tmp_path,
        source,
        name,
        schemas={"source": {"url": ours.url}},
        target={"bootstrap": target.bootstrap},
        restore={"schemas": {"target": {"url": theirs.url}, "ids": ids, **more}},
    )
    file = str(archive.file)
    ran = here.on_spark("archive", "run", file, "--until-caught-up")
    assert ran.code == 0, ran.said
    ours.stop()
    came = here.on_spark("restore", "run", file, "--verify", "--output", "json")
    assert came.code == 0, came.said
    assert came.json["comparison"]["proven"]
    assert any("are there" in each for each in came.json["schemas"])
    assert read(target.bootstrap, theirs.url, name, _COUNT) == written
    told = here("restore", "status", file, "--output", "json").json["schema_ids"]
    assert (told is None) == (ids == "keep")


@pytest.mark.soak
def test_ids_of_no_schema_pass_and_are_counted_or_stop_their_partition(
    target: SharedCluster, new_registry: NewRegistry, new_name: NewName, tmp_path: Path, here: Here
) -> None:
    scene, theirs = (
        SchemaScene(tmp_path, new_name("passing"), target, new_registry()),
        new_registry(),
    )
    scene.stored.put(scene.topic, named([4711, 4712], 60), start=60)
    strict = scene.file(theirs.url, ids="translate", strict=True)
    stopped = here.on_spark("restore", "run", strict)
    assert stopped.code == 3, stopped.said
    assert "schema id 4711 in values" in " ".join(stopped.said.split())
    assert scene.restored == 60
    file = scene.file(theirs.url, ids="translate")
    ran = here.on_spark("restore", "run", file, "--verify")
    assert ran.code == 0, ran.said
    assert ids_in(target.bootstrap, scene.topic)[60:] == [4711, 4712]
    status = here("restore", "status", file)
    assert "2 ids in records without one (SCHEMA_ID_ABSENT)" in status.out
    told = here("restore", "status", file, "--output", "json").json["schema_ids"]
    assert told["untranslated"] == {"SCHEMA_ID_ABSENT": 2}
    kept = here("restore", "plan", scene.file(theirs.url))
    assert "other `restore.schemas.ids`" in " ".join(kept.out.split())


@pytest.mark.soak
def test_a_registry_that_takes_no_ids_or_nothing_at_all_is_told_before(
    target: SharedCluster,
    new_registry: NewRegistry,
    new_proxy: NewProxy,
    new_name: NewName,
    tmp_path: Path,
    here: Here,
) -> None:
    scene, theirs = SchemaScene(tmp_path, new_name("modes"), target, new_registry()), new_registry()
    place = "/apis/ccompat/v7"

    def below(method: str, path: str, body: Body) -> Changed:
        return forwarded(theirs.url + path.removeprefix(place), method, body)

    own = here("restore", "plan", scene.file(f"{new_proxy(theirs.url, below).url}{place}"))
    assert own.code == 2, own.said
    assert "set `restore.schemas.ids: translate`" in " ".join(own.out.split())
    mode = "READONLY_OVERRIDE"

    def moded(method: str, path: str, body: Body) -> Changed:
        return (200, {"mode": mode}) if method == "GET" and "defaultToGlobal" in path else body

    proxy = new_proxy(theirs.url, moded)
    closed = here("restore", "plan", scene.file(proxy.url))
    assert closed.code == 4, closed.said
    assert "it takes no schema" in " ".join(closed.out.split())
    mode = "READONLY"
    theirs.ask("PUT", "/config", {"compatibility": "NONE"})
    told = here("restore", "plan", scene.file(proxy.url))
    assert told.code == 0, told.said
    said = " ".join(told.out.split())
    assert "each subject gets a mode of its own" in said
    assert "`restore.schemas.global: true` brings it back" in said
    assert theirs.schemas() == {}
