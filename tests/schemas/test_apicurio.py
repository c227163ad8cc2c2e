"""Apicurio as a target: new ids of either kind, texts as they are, no write to keep ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.clusters.clusters import Clusters
from tests.support.registries.apicurio import LocalApicurio, fetch
from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.schema_worlds import Bringing
from towpath.model.errors import SchemaNotKeptError
from towpath.model.schemas import SchemaId

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
SPACED = '{"type": "record",\n "name": "Spaced",\t"fields": []}'


@pytest.fixture(scope="module")
def apicurio(
    clusters: Clusters, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalApicurio]:
    program = clusters.once("apicurio-program", fetch)
    if program is None:
        pytest.skip("Apicurio is fetched with Maven, and there is none")
    started = LocalApicurio(program, tmp_path_factory.mktemp("apicurio"))
    yield started
    started.stop()


def fill(ours: LocalRegistry, prefix: str) -> None:
    """Register subjects of all types, with references, a history, and one body in two subjects."""
    ours.register(f"{prefix}-money", record("Money", "amount"))
    ours.register(f"{prefix}-money", record("Money", "amount", "currency"))
    of = refers(("Money", f"{prefix}-money", 2))
    ours.register(f"{prefix}-order", record("Order", of={"price": "Money"}), references=of)
    ours.register(f"{prefix}-same", record("Money", "amount"))
    ours.register(f"{prefix}-spaced", SPACED)
    ours.register(f"{prefix}-json", '{"type":  "object", "properties": {}}', schemaType="JSON")
    proto = 'syntax = "proto3";\n// kept\nmessage A { int32 a = 1; }\n'
    ours.register(f"{prefix}-proto", proto, schemaType="PROTOBUF")
    ours.ask("PUT", f"/config/{prefix}-money", {"compatibility": "NONE"})
    ours.register(f"{prefix}-money", '"string"')  # breaks what holds from now on
    ours.ask("PUT", f"/config/{prefix}-money", {"compatibility": "FULL", "normalize": True})


def between(ours: LocalRegistry, theirs: LocalApicurio, **more: Any) -> dict[str, Any]:
    kind = {name: more.pop(name) for name in ("kind", "apicurio_id") if name in more}
    return {"source": {"url": ours.url}, "target": {"url": theirs.url, **kind}, **more}


def native(theirs: LocalApicurio, subject: str, number: int) -> dict[str, Any]:
    path = f"/groups/default/artifacts/{subject}/versions/{number}"
    found: dict[str, Any] = theirs.own(path)
    return found


@pytest.mark.parametrize("which", ["content", "global"])
def test_it_gets_texts_as_they_are_and_tells_its_ids(
    new_registry: NewRegistry, apicurio: LocalApicurio, which: str
) -> None:
    ours = new_registry()
    fill(ours, which)
    ours.ask("PUT", f"/mode/{which}-same", {"mode": "READONLY"})
    with Bringing(between(ours, apicurio, ids="translate", apicurio_id=which)) as link:
        (note,) = link.sync().notes
        assert "normalization of the subject stay at the source" in note.text
        assert link.failed == {}
        found = link.look()
        assert (found.steps, found.problems) == ((), ())
        rows = link.client.compared(ask=True).rows
        assert {row.verdict for row in rows} == {"equal"}
        assert len(rows) == len(ours.schemas())
    for row in rows:
        assert row.place is not None
        held = native(apicurio, *row.place)
        assert row.target_id == held[f"{which}Id"]
        text = apicurio.text(SchemaId(held["globalId"]))
        assert text == ours.version(*row.at)["schema"]
    assert apicurio.level(f"{which}-money") == "FULL"
    same = {
        row.target_id for row in rows if row.at in {(f"{which}-same", 1), (f"{which}-money", 1)}
    }
    assert len(same) == (1 if which == "content" else 2)


def test_ids_cannot_be_kept_and_the_plan_says_so(
    new_registry: NewRegistry, apicurio: LocalApicurio
) -> None:
    ours = new_registry()
    fill(ours, "refused")
    before = apicurio.ask("GET", "/subjects")
    with Bringing(between(ours, apicurio)) as link:
        found = link.sync()
        assert found.steps == ()
        (problem,) = found.problems
        assert "of the kind apicurio gives ids of its own; set `schemas.ids: translate`" in str(
            problem
        )
    assert apicurio.ask("GET", "/subjects") == before


def test_taken_for_another_make_it_is_recognised_by_the_first_schema(
    new_registry: NewRegistry, apicurio: LocalApicurio
) -> None:
    ours = new_registry()
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    for number in range(12):
        text = record(f"S{number}", "x")
        ours.register(f"weak-{number:02}", text, id=70_000 + number, version=1)
    with Bringing(between(ours, apicurio, kind="confluent")) as link:
        link.sync()
        assert len(link.failed) == 12
        error = link.failed["weak-00"]
        assert isinstance(error, SchemaNotKeptError)
        assert "which should have id 70000" in str(error)
        found = link.look()
        assert found.steps == ()
        assert "does not keep ids" in found.problems[0].text
    assert [name for name in apicurio.ask("GET", "/subjects") if name.startswith("weak")] == [
        "weak-00"
    ]
