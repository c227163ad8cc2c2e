"""Between two real registries: what other tools get wrong (`tests/FAULTS.md`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from tests.support.registries.schema_worlds import between

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


def importing(registry: LocalRegistry, *made: tuple[str, int, int, Any]) -> None:
    """Register schemas under given ids: subject, id, version and schema of each."""
    registry.ask("PUT", "/mode", {"mode": "IMPORT"})
    for subject, number, version, schema in made:
        registry.register(subject, schema, id=number, version=version)
    registry.ask("PUT", "/mode", {"mode": "READWRITE"})


def strict() -> Callable[[str, str, Body], Changed]:
    """Return what lets a registry do as Redpanda 25.3: an id needs IMPORT, no id READWRITE."""
    modes: dict[str, str] = {}

    def change(method: str, path: str, body: Body) -> Changed:
        path, _, _ = path.partition("?")
        subject = path.split("/")[2] if path.count("/") > 1 else ""
        if path.startswith("/mode/") and method == "PUT" and body is not None:
            modes[subject] = str(body["mode"])
        if path.startswith("/mode/") and method == "DELETE":
            modes.pop(subject, None)
        if method == "POST" and path.endswith("/versions") and body is not None:
            importing = modes.get(subject) == "IMPORT"
            if importing != ("id" in body):
                said = f"Subject {subject} is {'' if importing else 'not '}in import mode"
                return 422, {"error_code": 42205, "message": said}
        return body

    return change


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_a_registry_that_wants_import_for_ids_and_readwrite_for_none(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b"):
        ours.register(name, record("A", "x"))
        ours.register(name, record("A", "x", "y"))
    proxy = new_proxy(theirs.url, strict())
    with between(ours.url, proxy.url, ids=ids) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    assert theirs.schemas().keys() == ours.schemas().keys()
    assert [theirs.mode(name) for name in ("a", "b")] == [None, None]


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_subjects_that_share_one_body_cost_as_much_as_others(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str
) -> None:
    asked = {}
    for shares in (False, True):
        ours, theirs = new_registry(), new_registry()
        for number in range(40):
            ours.register(f"s{number:02}", record("Same" if shares else f"S{number}", "x"))
        proxy = new_proxy(theirs.url)
        with between(ours.url, proxy.url, ids=ids) as link:
            link.sync()
            assert (link.failed, link.look().steps) == ({}, ())
        assert len({number for number, _ in theirs.schemas().values()}) == (1 if shares else 40)
        asked[shares] = proxy.asked.total()
    assert asked[True] <= asked[False] + 10


def test_which_schemas_share_an_id_stays_so(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    theirs.register("first", record("First", "x"))  # takes id 1
    same = record("Same", "x")
    numbers = [ours.register(name, same) for name in ("a", "b")]
    assert numbers == [1, 1]
    ours.register("c", record("Other", "x"))
    with between(ours.url, theirs.url, ids="translate") as link:
        link.sync()
        assert link.failed == {}
    a, b, c = (theirs.version(name)["id"] for name in ("a", "b", "c"))
    assert a == b > 1
    assert c not in {a, 1}


def test_one_schema_under_several_ids_keeps_all_of_them(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    same = record("Same", "x")
    importing(ours, ("a", 189, 1, same), ("b", 195, 1, same))
    assert [ours.version(name)["id"] for name in ("a", "b")] == [189, 195]
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps, link.look().problems) == ({}, (), ())
    assert theirs.schemas() == ours.schemas()
    for number in (189, 195):
        assert theirs.ask("GET", f"/schemas/ids/{number}") == ours.ask(
            "GET", f"/schemas/ids/{number}"
        )


def test_a_pair_with_a_reference_keeps_its_ids_where_only_the_latest_is_wanted(
    new_registry: NewRegistry,
) -> None:
    ours, theirs = new_registry(), new_registry()
    customer = record("Customer", of={"home": "Address"})
    importing(ours, ("address", 189, 1, record("Address", "zip")))
    ours.ask("PUT", "/mode?force=true", {"mode": "IMPORT"})
    of = refers(("Address", "address", 1))
    ours.register("customer", customer, id=195, version=1, references=of)
    with between(ours.url, theirs.url, include=["customer"], versions="latest") as link:
        link.sync()
        assert link.failed == {}
    assert theirs.schemas() == ours.schemas()
    assert theirs.version("customer")["references"] == of


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, {"a-key", "a-value", "b-value"}),
        ({"include": ["a-.*"]}, {"a-key", "a-value"}),
        ({"include": ["a-.*", "b-.*"], "exclude": [".*-key"]}, {"a-value", "b-value"}),
        ({"exclude": ["a-value"]}, {"a-key", "b-value"}),
        ({"deleted": "keep"}, {"a-key", "a-value", "b-value", "gone"}),
        ({"versions": "latest"}, {"a-key", "a-value", "b-value"}),
        ({"versions": "latest", "deleted": "keep"}, {"a-key", "a-value", "b-value", "gone"}),
    ],
)
def test_what_is_brought_over(
    new_registry: NewRegistry, more: dict[str, Any], names: set[str]
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a-key", "a-value", "b-value", "gone"):
        ours.register(name, record("A", "x"))
        ours.register(name, record("A", "x", "y"))
    ours.ask("DELETE", "/subjects/gone")
    with between(ours.url, theirs.url, **more) as link:
        link.sync()
        assert link.failed == {}
    found = theirs.ask("GET", "/schemas?deleted=true")
    assert {each["subject"] for each in found} == names
    versions = {1, 2} if "versions" not in more else {2}
    assert {each["version"] for each in found} == versions
    assert theirs.answer("GET", "/subjects/gone/versions/2")[0] == 404


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_what_is_equal_is_not_written_again(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(5):
        ours.register(f"s{number}", record(f"S{number}", "x"))
        ours.ask("PUT", f"/config/s{number}", {"compatibility": "FULL"})
    proxy = new_proxy(theirs.url)
    for _ in range(2):  # the second one is a process that remembers nothing
        proxy.asked.clear()
        with between(ours.url, proxy.url, ids=ids) as link:
            link.sync()
            assert link.failed == {}
    assert set(proxy.asked) == {"GET"}
    assert [theirs.level(f"s{number}") for number in range(5)] == ["FULL"] * 5


def test_modes_that_were_there_stay(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b"):
        ours.register(name, record("A", "x"))
        ours.register(name, record("A", "x", "y"))
    theirs.ask("PUT", "/mode/a", {"mode": "IMPORT"})
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    assert [theirs.mode(name) for name in ("a", "b")] == ["IMPORT", None]

    ours.register("b", record("A", "x", "y", "z"))
    theirs.ask("PUT", "/mode?force=true", {"mode": "IMPORT"})
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert (link.failed, link.look().steps) == ({}, ())
    assert theirs.ask("GET", "/mode") == {"mode": "IMPORT"}
    assert theirs.schemas() == ours.schemas()


def test_a_compatibility_that_cannot_be_read_is_named(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b"):
        ours.register(name, record("A", "x"))
        ours.ask("PUT", f"/config/{name}", {"compatibility": "FULL"})

    def refuse(_method: str, path: str, body: Body) -> Changed:
        refused = path.startswith("/config/a")
        return (403, {"error_code": 40301, "message": "no"}) if refused else body

    with between(new_proxy(ours.url, refuse).url, theirs.url) as link:
        found = link.sync()
        assert [problem.about for problem in found.problems] == ["a"]
        assert [problem.about for problem in link.look().problems] == ["a"]
    assert [theirs.level(name) for name in ("a", "b")] == [None, "FULL"]


def test_nothing_is_registered_where_a_mode_could_not_be_restored(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b"):
        ours.register(name, record("A", "x"))
    theirs.ask("PUT", "/mode/a", {"mode": "READONLY"})

    def refuse(method: str, path: str, body: Body) -> Changed:
        refused = method == "GET" and path.startswith("/mode/a")
        return (403, {"error_code": 40301, "message": "no"}) if refused else body

    with between(ours.url, new_proxy(theirs.url, refuse).url) as link:
        found = link.sync()
        assert [problem.about for problem in found.problems] == ["a"]
        assert link.failed == {}
    assert set(theirs.schemas()) == {("b", 1)}
    assert theirs.mode("a") == "READONLY"


def test_a_registry_that_asks_to_wait_loses_nothing(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(6):
        ours.register(f"s{number}", record(f"S{number}", "x"))
    seen: dict[tuple[str, str], int] = {}

    def busy(method: str, path: str, body: Body) -> Changed:
        key = method, path
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            return (429 if len(seen) % 2 else 503), {"message": "later"}
        return body

    with between(new_proxy(ours.url, busy).url, new_proxy(theirs.url, busy).url) as link:
        link.sync()
        assert (link.failed, link.look().problems) == ({}, ())
    assert theirs.schemas() == ours.schemas()
