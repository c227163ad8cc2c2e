"""Registries that ignore, keep, list or take less than others, and such as refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from tests.support.registries.schema_worlds import Bringing, between, fill
from towpath.model.errors import SchemaHeldBackError, SchemaNotKeptError

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


def test_a_registry_that_ignores_ids_is_recognised_by_the_first_schema(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    for number in range(20):
        text = record(f"S{number}", "x")
        ours.register(f"s{number:02}", text, id=1000 + number, version=1)
    theirs.register("first", record("First", "x"))

    def ignore(method: str, path: str, body: Body) -> Changed:
        if method == "PUT" and path.startswith("/mode"):
            return 200, body
        if method == "POST" and body is not None:
            return {key: value for key, value in body.items() if key not in {"id", "version"}}
        return body

    weak = new_proxy(theirs.url, ignore)
    with between(ours.url, weak.url) as link:
        link.sync()
        assert len(link.failed) == 20
        error = link.failed["s00"]
        assert isinstance(error, SchemaNotKeptError)
        assert error.whole
        assert "which should have id 1000, and has id 2" in str(error)
        assert len(theirs.schemas()) == 2  # ours is the first one alone
        # The journal knows it, so that no other process tries again.
        found = link.look()
        assert found.steps == ()
        assert "does not keep ids" in found.problems[0].text


def test_a_registry_that_keeps_nothing_is_recognised(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)

    def swallow(method: str, path: str, body: Body) -> Changed:
        if method == "POST" and path.endswith("/versions") and body is not None:
            return 200, {"id": body.get("id", 4711)}
        return body

    with between(ours.url, new_proxy(theirs.url, swallow).url) as link:
        link.sync()
        assert set(link.failed) == {"address", "person", "order"}
        assert "and has nothing" in str(link.failed["address"])
    assert theirs.schemas() == {}
    proxy = new_proxy(theirs.url, swallow)
    ours.register("alone", record("Alone", "x"))
    with between(ours.url, proxy.url, ids="translate") as link:
        link.sync()
        assert set(link.failed) == {"address", "alone", "person", "order"}
        assert "a schema of address" in str(link.failed["alone"])  # it was not even sent
    assert theirs.schemas() == {}


def test_a_target_that_takes_contexts_for_names_is_recognised(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in "ab":
        ours.register(f":.eu:{name}", record(name, "x"))
        ours.register(name, record(name, "x"))

    def literal(_method: str, path: str, body: Body) -> Changed:
        return (200, ["."]) if path == "/contexts" else body

    with between(ours.url, new_proxy(theirs.url, literal).url) as link:
        link.sync()
        assert set(link.failed) >= {":.eu:a", ":.eu:b"}
        told = str(link.failed[":.eu:a"])
        assert "which should have the context .eu, and has a subject of the default" in told


def test_registries_without_a_list_of_all_schemas(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)

    def old(_method: str, path: str, body: Body) -> Changed:
        return (404, {"error_code": 404}) if path.startswith("/schemas?") else body

    with between(new_proxy(ours.url, old).url, new_proxy(theirs.url, old).url) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
        assert theirs.schemas() == ours.schemas()
        # A subject that was made again under the same number is noticed.
        ours.ask("DELETE", "/subjects/order")
        ours.ask("DELETE", "/subjects/order?permanent=true")
        ours.register("order", record("Order", "x"))
        (problem,) = link.look().problems
        assert "the subject was made again" in problem.text


@pytest.mark.parametrize("most", [7, 1000])
def test_lists_come_in_pages_of_any_size(
    new_registry: NewRegistry, new_proxy: NewProxy, most: int
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(30):
        ours.register(f"s{number}", record(f"S{number}", "x"))

    def paged(_method: str, path: str, body: Body) -> Changed:
        if not path.startswith("/schemas?"):
            return body
        asked = {name: int(text[0]) for name, text in parse_qs(urlsplit(path).query).items()}
        first = asked["offset"] if most < 1000 else 0  # the other one has no pages
        return 200, ours.ask("GET", "/schemas")[first : first + min(most, asked["limit"])]

    with between(new_proxy(ours.url, paged).url, theirs.url) as link:
        link.sync()
    assert theirs.schemas() == ours.schemas()


def test_a_serverless_registry_gets_what_it_can_hold(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    metadata = {"properties": {"owner": "shop"}, "tags": {"A.x": ["PII"]}}
    ours.register("a", record("A", "x"), metadata=metadata)
    ours.ask("PUT", "/config/a", {"compatibility": "FULL", "compatibilityGroup": "major"})

    def narrow(method: str, path: str, body: Body) -> Changed:
        held = {"schema", "schemaType", "references", "id", "version", "compatibility", "mode"}
        too_much = method != "GET" and body is not None and body.keys() - held
        if path.startswith("/contexts"):
            return 404, {"error_code": 404}
        return (422, {"error_code": 422, "message": "unknown field"}) if too_much else body

    weak = new_proxy(theirs.url, narrow).url
    with Bringing(
        {"source": {"url": ours.url}, "target": {"url": weak, "kind": "serverless"}}
    ) as link:
        notes = [str(note) for note in link.sync().notes]
        why = "as a registry of the kind serverless cannot hold that"
        assert notes == [
            f"a: version 1: metadata and tags stay at the source, {why}",
            f"a: compatibility group of the subject stay at the source, {why}",
        ]
        assert (link.failed, link.look().steps) == ({}, ())
    assert theirs.level("a") == "FULL"
    assert theirs.version("a")["id"] == 1


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_each_registry_gets_the_mode_that_it_needs(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str
) -> None:
    """As Redpanda since 25.3: ids are taken in IMPORT alone, and new ones given outside of it."""
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    theirs.ask("PUT", "/mode/person", {"mode": "READONLY"})
    theirs.ask("PUT", "/mode/order", {"mode": "IMPORT"})
    theirs.ask("PUT", "/mode", {"mode": "READONLY" if ids == "keep" else "IMPORT"})

    def strict(method: str, path: str, body: Body) -> Changed:
        if method == "POST" and path.endswith("/versions") and body is not None:
            name = path.split("/")[2]
            mode = theirs.mode(name) or theirs.ask("GET", "/mode")["mode"]
            if (mode == "IMPORT") != ("id" in body):
                return 422, {"error_code": 42205, "message": f"not in the mode {mode}"}
        return body

    with between(ours.url, new_proxy(theirs.url, strict).url, ids=ids) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    assert [theirs.mode(name) for name in ("address", "person", "order")] == [
        None,
        "READONLY",
        "IMPORT",
    ]
    assert {text for _, text in theirs.schemas().values()} == {
        text for _, text in ours.schemas().values()
    }


@pytest.mark.parametrize(
    "refusal",
    [
        (403, {"error_code": 40301, "message": "this one is for reading"}),
        (405, {"error_code": 405, "message": "Method Not Allowed"}),
        (422, {"error_code": 42205, "message": "READONLY"}),
    ],
    ids=["403", "405", "42205"],
)
@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_a_follower_that_takes_no_changes_is_read_and_another_address_written(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str, refusal: tuple[int, Any]
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    if ids == "translate":
        theirs.register("before", record("Before", "x"))  # takes the first id
    ours.ask("PUT", "/config/person", {"compatibility": "FULL"})

    def reads_alone(method: str, path: str, body: Body) -> Changed:
        changes = method in {"PUT", "DELETE"} or path.partition("?")[0].endswith("/versions")
        return refusal if changes and method != "GET" else body

    follower = new_proxy(theirs.url, reads_alone)
    config = {"source": {"url": ours.url}, "target": {"url": [follower.url, theirs.url]}}
    with Bringing({**config, "ids": ids}) as link:
        link.settle()
    assert follower.asked["GET"] > 0
    assert follower.asked["POST"] + follower.asked["PUT"] <= 8, "at most once at a time"
    assert {text for _, text in ours.schemas().values()} <= {
        text for _, text in theirs.schemas().values()
    }
    assert [theirs.level("person"), theirs.mode("person")] == ["FULL", None]


def test_one_subject_that_fails_stops_only_what_refers_to_it(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.register("alone", record("Alone", "x"))

    def refuse(method: str, path: str, body: Body) -> Changed:
        refused = method == "POST" and path == "/subjects/person/versions"
        return (422, {"error_code": 42201, "message": "no"}) if refused else body

    proxy = new_proxy(theirs.url, refuse)
    with between(ours.url, proxy.url) as link:
        link.sync()
        assert set(link.failed) == {"person", "order"}
        assert isinstance(link.failed["order"], SchemaHeldBackError)
        assert set(theirs.schemas()) == {("address", 1), ("address", 2), ("alone", 1)}
        assert theirs.mode("person") is None
        proxy.change = lambda _method, _path, body: body
        link.sync()
        assert link.failed == {}
    assert theirs.schemas() == ours.schemas()


@pytest.mark.parametrize("more", [{}, {"include": ["order"]}])
def test_import_is_set_once_for_each_subject_before_all_versions_and_taken_back_behind_them(
    new_registry: NewRegistry, new_proxy: NewProxy, more: dict[str, Any]
) -> None:
    """Also for subjects that come along only because others refer to them."""
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.register("address", record("Address", "zip", "city", "street"))
    of = refers(("Address", "address", 3))
    ours.register("shop", record("Shop", of={"at": "Address"}), references=of)
    if not more:
        theirs.ask("PUT", "/mode/shop", {"mode": "IMPORT"})
    done: list[tuple[str, str]] = []

    def watch(method: str, path: str, body: Body) -> Changed:
        parts = path.partition("?")[0].split("/")
        if method != "GET" and parts[1] in {"mode", "subjects"}:
            done.append((parts[2], f"{method} {parts[1]}"))
        return body

    with between(ours.url, new_proxy(theirs.url, watch).url, **more) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    of_subject = {name: [what for each, what in done if each == name] for name, _ in done}
    posts = {"address": 3, "person": 1, "order": 1}
    if not more:
        assert of_subject.pop("shop") == ["POST subjects"], "it was in IMPORT already, and stays so"
        assert theirs.mode("shop") == "IMPORT"
    assert of_subject.keys() == posts.keys()
    for name, number in posts.items():
        assert of_subject[name] == ["PUT mode", *["POST subjects"] * number, "DELETE mode"], name
        assert theirs.mode(name) is None


def test_a_subject_with_versions_goes_into_import_by_force(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    with between(ours.url, theirs.url, include=["address"]) as link:
        link.sync()
    ours.register("address", record("Address", "zip", "city", "street"))

    def careful(method: str, path: str, body: Body) -> Changed:
        if method == "PUT" and path.startswith("/mode/address") and "force=true" not in path:
            return 422, {"error_code": 42205, "message": "Cannot import: found existing subjects"}
        return body

    with between(ours.url, new_proxy(theirs.url, careful).url) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    assert theirs.schemas() == ours.schemas()
    assert theirs.mode("address") is None


@pytest.mark.parametrize("ids", ["keep", "translate"])
@pytest.mark.parametrize("again", [None, 422, 409])
def test_a_registration_whose_answer_is_lost_is_done_all_the_same(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str, again: int | None
) -> None:
    """Some registries refuse an id that they have taken just before, with the same schema."""
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    theirs.register("first", record("First", "x"))
    ours.ask("PUT", "/mode?force=true", {"mode": "IMPORT"})
    ours.register("late", record("Late", "x"), id=50, version=1)
    ours.ask("PUT", "/mode?force=true", {"mode": "READWRITE"})
    lost: set[str] = set()

    def lose(method: str, path: str, body: Body) -> Changed:
        if method != "POST" or not path.partition("?")[0].endswith("/versions") or body is None:
            return body
        if path not in lost:
            lost.add(path)
            theirs.answer(method, path, body)
            return 503, {"message": "the answer is lost"}
        return body if again is None else (again, {"error_code": again, "message": "taken"})

    source = {"url": ours.url}
    target = {"url": new_proxy(theirs.url, lose).url, "timeout": "3s"}
    more = {"ids": ids, "include": ["late"]}
    with Bringing({"source": source, "target": target, **more}) as link:
        for _ in range(2):
            link.sync()
        assert link.failed == {}
        found = link.look()
        assert (found.steps, found.problems) == ((), ())
    assert theirs.version("late")["schema"] == ours.version("late")["schema"]
    assert theirs.ask("GET", "/subjects/late/versions") == [1]
    assert (theirs.version("late")["id"] == 50) == (ids == "keep")
    assert theirs.mode("late") is None
