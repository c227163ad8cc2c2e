"""Schemas of a real registry are archived as they change, and the archive answers like it."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.archive.archived_schemas import SchemaArchive
from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce
from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.schema_worlds import fill
from towpath.model.nouns import Side
from towpath.model.schemas import SchemaId, SubjectName
from towpath.registry.registry import Registry
from towpath.schemas.answers import SchemaAnswers
from towpath.settings import RegistryConfig

NewRegistry = Callable[..., LocalRegistry]


def test_versions_of_an_archive_have_the_schemas_of_then(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry()
    fill(registry)
    registry.ask("PUT", "/config/order", {"compatibility": "FULL"})
    archive = SchemaArchive(tmp_path, registry.url)
    assert archive.look().trouble == ""
    before = registry.schemas()
    assert archive.held() == before
    first = archive.state.version
    archive.look()
    assert (archive.found, archive.state.version) == ([], first)  # nothing has changed
    registry.register("order", record("Order", "more", of={"by": "Person"}),
                      references=refers(("Person", "person", 1)))  # fmt: skip
    registry.ask("PUT", "/config/order", {"compatibility": "NONE"})
    archive.look()
    assert len(archive.found) == 1  # only the part that has this subject
    assert (archive.held(first), archive.held()) == (before, registry.schemas())
    levels = [archive.registry(version).settings.config(SubjectName("order")).compatibility
              for version in (first, None)]  # fmt: skip
    assert levels == ["FULL", "NONE"]


def test_the_archive_answers_for_each_id_as_the_registry_does(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry()
    fill(registry)
    registry.register(":.eu:order", record("Other", "x"))
    archive = SchemaArchive(tmp_path, registry.url)
    archive.look()
    real = Registry(RegistryConfig.model_validate({"url": registry.url}), Side.SOURCE, 2)
    kept = archive.registry()
    with ThreadPoolExecutor(2) as pool:
        asked = SchemaAnswers(real, kept, pool)
        for (subject, _), (number, _) in archive.held().items():
            context = ".eu" if subject.startswith(":.eu:") else "."
            ours, theirs = (asked.by_id(side, SchemaId(number), context) for side in Side)
            assert ours is not None
            assert theirs is not None
            assert asked.difference(ours, theirs) == ""
    assert kept.contexts() == real.contexts()
    assert kept.subjects((".eu",)) == real.subjects((".eu",)) == {":.eu:order"}
    assert kept.by_id(SchemaId(999)) is None
    real.close()


def test_what_the_registry_deletes_stays_and_is_marked(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry()
    for name in ("soft", "hard", "stays"):
        registry.register(name, record("A", name))
        registry.register(name, record("A", name, "more"))
    archive = SchemaArchive(tmp_path, registry.url)
    archive.look()
    before = archive.held()
    registry.ask("DELETE", "/subjects/soft/versions/1")
    registry.ask("DELETE", "/subjects/hard")
    registry.ask("DELETE", "/subjects/hard?permanent=true")
    archive.look()
    assert archive.held() == before
    assert archive.marks("soft", 1) == (True, False)
    assert archive.marks("soft", 2) == (False, False)
    assert archive.marks("hard", 2) == (False, True)
    assert not archive.is_live("soft", 1)
    assert not archive.is_live("hard", 1)
    assert archive.is_live("stays", 1)


def test_only_wanted_subjects_are_archived_with_what_they_refer_to(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry()
    fill(registry)
    registry.register("other", record("Other", "x"))
    archive = SchemaArchive(tmp_path, registry.url, include=["ord.*"])
    archive.look()
    assert set(archive.held()) == {("order", 1), ("person", 1), ("address", 2)}


def test_a_registry_that_is_away_is_told_and_what_is_archived_stays(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry()
    fill(registry)
    archive = SchemaArchive(tmp_path, registry.url)
    archive.look()
    before = archive.held()
    registry.stop()
    assert "the schema registry at" in archive.look().trouble
    assert (archive.found, archive.held()) == ([], before)


def test_another_registry_is_told(new_registry: NewRegistry, tmp_path: Path) -> None:
    ours, other = new_registry(), new_registry()
    ours.register("a", record("A", "x"))
    other.register("a", record("B", "x"))
    SchemaArchive(tmp_path, ours.url).look()
    archive = SchemaArchive(tmp_path, other.url)
    assert f"schemas are archived of the registry {other.url} now" in archive.look().notes[0]
    assert archive.held() == other.schemas()
    assert archive.held(1) == ours.schemas()


@pytest.mark.soak
def test_tens_of_thousands_of_schemas_make_small_entries(
    new_registry: NewRegistry, tmp_path: Path
) -> None:
    registry = new_registry(memory="1GiB")
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda n: registry.register(f"s{n}", record(f"R{n}", *"abcdefgh")), range(3000))]
    archive = SchemaArchive(tmp_path, registry.url)
    assert archive.look().trouble == ""
    assert len(archive.held()) == 3000
    entry = tmp_path / "store" / "eu" / "_log" / f"{archive.state.version:020d}.json"
    assert entry.stat().st_size < 100_000
    registry.register("one-more", record("M", "x"))
    archive.look()
    assert len(archive.found) == 1
    assert len(archive.held()) == 3001


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.spark
def test_a_run_archives_schemas_and_commands_show_them(
    source: SharedCluster,
    new_registry: NewRegistry,
    tmp_path: Path,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    registry, name = new_registry(), new_name("schemed")
    fill(registry)
    produce(source.bootstrap, create_topic(source.bootstrap, f"{name}.a"), [Record(b"k", b"v")])
    archive = Archive(tmp_path, source, name, schemas={"source": {"url": registry.url}})
    file = str(archive.file)
    ran = here.on_spark("archive", "run", file, "--until-caught-up")
    assert ran.code == 0, ran.said
    version = archive.state.version
    told = json.loads(here("archive", "status", file, "--output", "json").out)["schemas"]
    assert (told["subjects"], told["versions"], told["registry"]) == (3, 4, registry.url)
    assert "3 subjects with 4 versions" in here("archive", "status", file).out
    registry.register("late", record("Late", "x"))
    assert here.on_spark("archive", "run", file, "--until-caught-up").code == 0
    shown = json.loads(here("archive", "show", file, "schemas", "--output", "json").out)
    assert sorted(shown["subjects"]) == [":.:", "address", "late", "order", "person"]
    then = here("archive", "show", file, "schemas", "--version", str(version)).out
    assert "address" in then
    assert "late" not in then
    assert '"Late"' in here("archive", "show", file, "schemas:late").out
    for wanted, option in (("schemas:none", ()), ("x.parquet", ("--version", "1"))):
        assert here("archive", "show", file, wanted, *option).code == 2
    registry.stop()
    ran = here.on_spark("archive", "run", file, "--until-caught-up")
    assert ran.code == 3
    assert "schemas are not archived" in ran.said
