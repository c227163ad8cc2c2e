"""Between two real registries: names, ids and contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.schema_worlds import between, fill

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]


def test_new_names_and_new_ids(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    theirs.register("other", record("Other", "x"))
    with between(ours.url, theirs.url, rename="eu.{subject}", ids="translate") as link:
        link.sync()
        assert link.failed == {}
        assert theirs.version("eu.order")["references"] == refers(("Person", "eu.person", 1))
        assert theirs.version("eu.person")["references"] == refers(("Address", "eu.address", 2))
        assert theirs.version("eu.order")["id"] > 1
        assert (theirs.level("eu.address"), theirs.mode("eu.address")) == (None, None)
        assert link.look().steps == ()
        # A version that comes later refers to what is there.
        of = refers(("Person", "person", 1))
        text = record("Order", "number", of={"by": "Person"})
        ours.register("order", text, references=of)
        assert [step.about for step in link.sync().steps] == ["eu.order"]
        assert theirs.version("eu.order")["version"] == 2
        assert link.look().steps == ()


def test_new_names_with_the_same_ids(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    with between(ours.url, theirs.url, rename="eu.{subject}") as link:
        link.sync()
        found = link.look()
        assert (found.steps, found.notes, found.problems) == ((), (), ())
    for name in ("address", "person", "order"):
        ours_, theirs_ = ours.version(name), theirs.version(f"eu.{name}")
        assert (ours_["id"], ours_["version"]) == (theirs_["id"], theirs_["version"])
    assert theirs.version("eu.order")["references"] == refers(("Person", "eu.person", 1))


def test_the_latest_versions_with_what_they_refer_to(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.register("address", record("Address", "zip", "city", "street"))
    with between(ours.url, theirs.url, include=["order"], versions="latest") as link:
        found = link.sync()
        assert {note.about for note in found.notes} == {"address", "person"}
    # Both by their references, with their numbers.
    assert set(theirs.schemas()) == {("address", 2), ("person", 1), ("order", 1)}
    assert theirs.schemas().items() <= ours.schemas().items()


@pytest.mark.parametrize("rename", ["{subject}", "eu.{subject}"])
def test_references_follow_where_only_the_latest_gets_another_number(
    new_registry: NewRegistry, rename: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    with between(ours.url, theirs.url, versions="latest", ids="translate", rename=rename) as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
    address, person = (rename.replace("{subject}", name) for name in ("address", "person"))
    # The second version at the source is the first one on the target.
    assert ours.version("person")["references"] == refers(("Address", "address", 2))
    assert theirs.version(person)["references"] == refers(("Address", address, 1))
    assert theirs.version(address)["version"] == 1


def test_a_schema_under_several_ids_keeps_all_of_them(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    for number, name in ((11, "a"), (12, "b"), (13, "c")):
        ours.register(name, record("A", "x"), id=number, version=1)
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
    assert {name: theirs.version(name)["id"] for name in "abc"} == {"a": 11, "b": 12, "c": 13}
    assert [theirs.ask("GET", f"/schemas/ids/{number}")["schema"] for number in (11, 12, 13)]


def test_a_subject_that_was_made_again_is_told(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    with between(ours.url, theirs.url, ids="translate") as link:
        link.sync()
        ours.ask("DELETE", "/subjects/order")
        ours.ask("DELETE", "/subjects/order?permanent=true")
        ours.register("order", record("Order", "x"))
        (note,) = link.sync().notes
        assert "the subject was made again at the source" in note.text
        assert link.failed == {}
        assert link.look().steps == ()
    assert theirs.ask("GET", "/subjects/order/versions") == [1, 2]


def test_a_target_that_is_not_empty_keeps_what_it_has(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    theirs.register("address", record("Address", "zip"))  # the same schema under the same id
    theirs.register("person", record("Person", "other"))  # id 2, which is another's here
    before = theirs.schemas()
    with between(ours.url, theirs.url) as link:
        found = link.sync()
    assert before.items() <= theirs.schemas().items()
    assert {problem.about for problem in found.problems} >= {"address", "person"}


def in_context(registry: LocalRegistry, context: str, name: str) -> dict[str, Any]:
    """Return the latest version of a subject of a context."""
    found: dict[str, Any] = registry.ask(
        "GET", f"/contexts/{context}/subjects/{name}/versions/latest"
    )
    return found


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_contexts_go_where_the_map_says(new_registry: NewRegistry, ids: str) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.register(":.eu:address", record("Address", "zip", "planet"))
    of = refers(("Address", "address", 1))
    ours.register(":.eu:person", record("Person", of={"home": "Address"}), references=of)
    ours.register(":.us:money", record("Money", "cents"))
    ours.register(":.lab:try", record("Try", "x"))
    ours.ask("PUT", "/config/:.eu:person", {"compatibility": "FULL"})
    theirs.register(":.west:busy", record("Busy", "x"))
    contexts = {".": ".", "eu|us": "far-{context}", "lab": "skip"}
    with between(ours.url, theirs.url, ids=ids, contexts=contexts) as link:
        link.sync()
        assert link.failed == {}
        found = link.look()
        assert (found.steps, found.problems) == ((), ())
        rows = link.client.compared(ask=True).rows
        assert {row.verdict for row in rows} == {"equal"}
        assert len(rows) == 7
    assert set(theirs.ask("GET", "/contexts")) == {".", ".west", ".far-eu", ".far-us"}
    person, address = (in_context(theirs, ".far-eu", name) for name in ("person", "address"))
    assert (address["id"], person["id"]) == (1, 2)
    assert "planet" in address["schema"]
    assert person["references"] == of
    assert theirs.level(":.far-eu:person") == "FULL"
    assert theirs.mode(":.far-eu:person") is None
    # A context that comes later stops nothing of the others.
    ours.register(":.new:a", record("A", "x"))
    ours.register(":.us:money", record("Money", "cents", "dollars"))
    with between(ours.url, theirs.url, ids=ids, contexts=contexts) as link:
        (problem,) = link.sync().problems
        assert problem.about == ".new"
    assert in_context(theirs, ".far-us", "money")["version"] == 2


def test_contexts_without_a_map_keep_their_names(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("a", record("A", "x"))
    ours.register(":.eu:a", record("A", "y"))
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
    assert theirs.version("a")["schema"] == ours.version("a")["schema"]
    assert in_context(theirs, ".eu", "a")["schema"] == in_context(ours, ".eu", "a")["schema"]
