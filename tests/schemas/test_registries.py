"""Between two real registries: names, ids, what is refused, what is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture
def new_proxy() -> Iterator[NewProxy]:
    started: list[RegistryProxy] = []

    def start(url: str, *change: Any) -> RegistryProxy:
        started.append(RegistryProxy(url, *change))
        return started[-1]

    yield start
    for each in started:
        each.stop()


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
        assert link.look() == type(link.look())()
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
            return 200, {"id": body["id"]}
        return body

    with between(ours.url, new_proxy(theirs.url, swallow).url) as link:
        link.sync()
        assert set(link.failed) == {"address", "person", "order"}
        assert "and has nothing" in str(link.failed["address"])
    assert theirs.schemas() == {}


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


def test_unchanged_subjects_cost_one_request_at_most(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(30):
        ours.register(f"s{number}", record(f"S{number}", "x"))
    with between(ours.url, theirs.url) as link:
        link.sync()
        link.look()
        before = link.requests
        assert link.look().steps == ()
        assert link.requests - before <= 30 + 10
        # A change is seen all the same, within two looks.
        ours.ask("PUT", "/config/s7", {"compatibility": "FULL"})
        ours.ask("PUT", "/mode/s8", {"mode": "READONLY"})
        changed = {step.about for _ in range(2) for step in link.sync().steps}
        assert changed == {"s7", "s8"}
        assert (theirs.level("s7"), theirs.mode("s8")) == ("FULL", "READONLY")


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
    with between(ours.url, theirs.url, metadata="strip") as link:
        (note,) = link.sync().notes
        assert str(note) == "a: metadata stay at the source, as the file says `strip`"
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
    theirs = new_registry(
        options={
            "security": {
                "tls": {
                    "enabled": True,
                    "cert_file": str(vault.broker.certificate),
                    "key_file": str(vault.broker.key),
                    "min_version": "TLS1.2",
                    "client_auth": "none",
                },
                "auth": {
                    "enabled": True,
                    "methods": ["basic"],
                    "basic": {"realm": "sr"},
                    "bootstrap": {
                        "enabled": True,
                        "username": "admin",
                        "password": "secretpw",
                        "email": "a@example.com",
                    },
                    "rbac": {
                        "enabled": True,
                        "default_role": "readonly",
                        "super_admins": ["admin"],
                    },
                },
            }
        },
        scheme="https",
    )
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
