"""Between two real registries: names, ids, what is refused, what is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.certificates import Vault
from tests.support.registry import LocalRegistry, record, refers
from tests.support.registry_proxy import Body, Changed, RegistryProxy
from tests.support.schema_worlds import Bringing
from towpath.model.errors import SchemaHeldBackError, SchemaNotKeptError
from towpath.schemas.steps import RegisterSchemas

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


def between(source: str, target: str, **more: Any) -> Bringing:
    return Bringing({"source": {"url": source}, "target": {"url": target}, **more})


def fill(registry: LocalRegistry) -> None:
    """Register subjects that refer to each other, with a history."""
    registry.register("address", record("Address", "zip"))
    registry.register("address", record("Address", "zip", "city"))
    of = refers(("Address", "address", 2))
    registry.register("person", record("Person", of={"home": "Address"}), references=of)
    of = refers(("Person", "person", 1))
    registry.register("order", record("Order", of={"by": "Person"}), references=of)


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


def test_a_history_that_breaks_the_rule_of_today_is_brought_over(
    new_registry: NewRegistry,
) -> None:
    ours = new_registry()
    ours.ask("PUT", "/config/a", {"compatibility": "NONE"})
    for text in ('"int"', '"string"', '"bytes"', record("A", "x")):
        ours.register("a", text)
    ours.ask("PUT", "/config/a", {"compatibility": "FULL_TRANSITIVE"})
    for ids in ("keep", "translate"):
        theirs = new_registry()
        with between(ours.url, theirs.url, ids=ids) as link:
            link.sync()
            assert (link.failed, link.look().steps) == ({}, ())
        assert len(theirs.schemas()) == 4
        assert (theirs.level("a"), theirs.mode("a")) == ("FULL_TRANSITIVE", None)


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


def test_versions_that_are_deleted_at_the_source_stay_out(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.ask("DELETE", "/subjects/address/versions/1")
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert link.look().steps == ()
    assert set(theirs.schemas()) == {("address", 2), ("person", 1), ("order", 1)}


def test_protobuf_and_json_with_references(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    money = 'syntax = "proto3";\npackage shop;\n// cents\nmessage Money { int64 cents = 1; }'
    ours.register("money.proto", money, schemaType="PROTOBUF")
    order = (
        'syntax = "proto3";\npackage shop;\nimport "money.proto";\n'
        "message Order { Money price = 1; }"
    )
    of = refers(("money.proto", "money.proto", 1))
    ours.register("order", order, schemaType="PROTOBUF", references=of)
    ours.register("size", {"type": "object", "title": "Size"}, schemaType="JSON")
    box = {"type": "object", "properties": {"size": {"$ref": "size.json"}}}
    of = refers(("size.json", "size", 1))
    ours.register("box", box, schemaType="JSON", references=of)
    for ids in ("keep", "translate"):
        theirs = new_registry()
        with between(ours.url, theirs.url, ids=ids) as link:
            link.sync()
            assert (link.failed, link.look().steps) == ({}, ())
        assert {text for _, text in theirs.schemas().values()} == {
            text for _, text in ours.schemas().values()
        }


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


def test_a_step_is_not_done_where_the_source_has_changed(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    with between(ours.url, theirs.url) as link:
        found = link.look()
        ours.ask("DELETE", "/subjects/order")
        ours.ask("DELETE", "/subjects/order?permanent=true")
        ours.register("order", record("Order", "x"))
        steps = [s for s in found.steps if isinstance(s, RegisterSchemas) and s.about == "order"]
        failed = link.client.apply(steps).failed
        assert "source: order version 1 changed since this was planned" in str(failed["order"])
    assert theirs.schemas() == {}
    assert theirs.mode("order") is None


def test_deleted_versions_are_brought_over_as_deleted_ones(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.ask("DELETE", "/subjects/address/versions/1")
    ours.ask("DELETE", "/subjects/order")
    with between(ours.url, theirs.url, deleted="keep") as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
    assert theirs.schemas() == ours.schemas()
    for path in ("/subjects?deleted=true", "/subjects/address/versions?deleted=true"):
        assert sorted(theirs.ask("GET", path)) == sorted(ours.ask("GET", path))
    order = theirs.ask("GET", "/subjects/order/versions/1?deleted=true")
    assert theirs.ask("GET", f"/schemas/ids/{order['id']}")["schema"] == order["schema"]


def test_metadata_and_rules(new_registry: NewRegistry) -> None:
    ours = new_registry()
    metadata = {"properties": {"owner": "shop"}, "tags": {"Order.price": ["PII"]}}
    ours.register("a", record("A", "x"), metadata=metadata)
    ours.register("b", record("B", "x"))
    theirs = new_registry()
    with between(ours.url, theirs.url) as link:
        # In IMPORT this make of registry drops them, so the loss is named, also later.
        link.sync()
        assert "the metadata that were sent, and has other metadata" in str(link.failed["a"])
        (problem,) = link.look().problems
        assert problem.about == "a"
    theirs = new_registry()
    with between(ours.url, theirs.url, ids="translate") as link:
        link.sync()
        assert link.failed == {}
    assert theirs.version("a")["metadata"]["properties"]["owner"] == "shop"
    theirs = new_registry()
    with between(ours.url, theirs.url, metadata="strip", tags="strip") as link:
        (note,) = link.sync().notes
        left = "a: version 1: metadata and tags stay at the source"
        assert str(note) == f"{left}, as the file says `strip`"
        assert (link.failed, link.look().steps) == ({}, ())
    assert "owner" not in str(theirs.version("a"))
    theirs = new_registry()
    with between(ours.url, theirs.url, metadata="fail") as link:
        (problem,) = link.sync().problems
        assert str(problem) == "a: version 1 has metadata, and the file says `fail`"
    assert set(theirs.schemas()) == {("b", 1)}


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_a_target_that_normalizes(new_registry: NewRegistry, ids: str) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register(
        "p",
        'syntax = "proto3";\nmessage A {\n  string b = 2;\n  int32 a = 1;\n}\n',
        schemaType="PROTOBUF",
    )
    ours.register("a", record("A", "x"))
    with between(ours.url, theirs.url, ids=ids, normalize=True) as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
        assert set(theirs.schemas()) == {("p", 1), ("a", 1)}


def test_tls_and_a_login(
    new_registry: NewRegistry, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_WORD", "secretpw")
    ours = new_registry()
    fill(ours)
    theirs = new_registry(vault=vault)
    login = {"username": "admin", "password": "env:REGISTRY_WORD"}
    target = {"url": theirs.url, "tls": {"ca": str(vault.ca)}, "basic": login}
    with Bringing({"source": {"url": ours.url}, "target": target}) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    monkeypatch.setenv("REGISTRY_WORD", "wrong")
    with Bringing({"source": {"url": ours.url}, "target": target}) as link:
        (problem,) = link.look().problems
        assert "look at the login under `schemas.target`" in problem.text
    with Bringing({"source": {"url": ours.url}, "target": {"url": theirs.url}}) as link:
        (problem,) = link.look().problems
        assert "CERTIFICATE_VERIFY_FAILED" in problem.text


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


def test_compatibility_groups_and_defaults(new_registry: NewRegistry) -> None:
    ours = new_registry()
    ours.register("a", record("A", "x"))
    ours.register("a", record("A", "x", "y"))
    more: dict[str, Any] = {"compatibilityGroup": "major"}
    ours.ask("PUT", "/config/a", {"compatibility": "FULL", "normalize": True, **more})
    for ids in ("keep", "translate"):
        theirs = new_registry()
        with between(ours.url, theirs.url, ids=ids) as link:
            link.sync()
            assert (link.failed, link.look().steps) == ({}, ())
            held = theirs.ask("GET", "/config/a")
            assert held == ours.ask("GET", "/config/a")
            # What is registered later leaves all of it as it is.
            ours.ask("PUT", "/config/a", {"compatibility": "NONE"})
            ours.register("a", record("A", "z"))
            ours.ask("PUT", "/config/a", {"compatibility": "FULL", "normalize": True, **more})
            link.sync()
            assert (link.failed, link.look().steps) == ({}, ())
            assert theirs.ask("GET", "/config/a") == held
        last = ours.version("a")["version"]
        ours.ask("DELETE", f"/subjects/a/versions/{last}")
        ours.ask("DELETE", f"/subjects/a/versions/{last}?permanent=true")
    theirs = new_registry()
    more |= {"defaultMetadata": {"properties": {"owner": "shop"}}}
    ours.ask("PUT", "/config/a", {"compatibility": "FULL", "normalize": True, **more})
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
        assert theirs.ask("GET", "/config/a") == ours.ask("GET", "/config/a")
    theirs = new_registry()
    with between(ours.url, theirs.url, compatibility_groups="strip", metadata="strip") as link:
        (note,) = link.sync().notes
        left = "compatibility group and metadata of the subject stay at the source"
        assert str(note) == f"a: {left}, as the file says `strip`"
        assert (link.failed, link.look().steps) == ({}, ())
        said = theirs.ask("GET", "/config/a")
        assert said == {"compatibilityLevel": "FULL", "normalize": True}
    theirs = new_registry()
    with between(ours.url, theirs.url, compatibility_groups="fail") as link:
        (problem,) = link.sync().problems
        assert "compatibility group is set for it, and the file says `fail`" in problem.text
    assert theirs.level("a") is None


def test_what_is_set_for_all_subjects_is_left_alone_unless_the_file_says_so(
    new_registry: NewRegistry,
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("a", record("A", "x"))
    ours.register(":.eu:a", record("A", "x"))
    ours.ask("PUT", "/config", {"compatibility": "FULL_TRANSITIVE"})
    ours.ask("PUT", "/config/:.eu:", {"compatibility": "NONE"})
    with between(ours.url, theirs.url) as link:
        link.sync()
    assert theirs.ask("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
    with Bringing({**link.config, "global": True}) as link:
        ours.ask("PUT", "/mode", {"mode": "READONLY"})
        assert {step.about for step in link.sync().steps} == {":.:", ":.eu:"}
        assert (link.failed, link.look().steps) == ({}, ())
    assert theirs.ask("GET", "/config") == {"compatibilityLevel": "FULL_TRANSITIVE"}
    assert theirs.ask("GET", "/config/:.eu:") == {"compatibilityLevel": "NONE"}
    assert theirs.ask("GET", "/mode") == {"mode": "READWRITE"}


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
