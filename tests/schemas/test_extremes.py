"""Between two real registries: odd names, odd answers, and files that change after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from tests.support.registries.schema_worlds import Bringing, between
from towpath.registry.forms import path_of

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


NAMES = ("100%", "%2F", "a b", "a?b#c", "größe-Ω-💶", "a::b", ":a", "..a", "a.", "a\\b", "a\"b'c")
MORE_NAMES = ("a&b=c", "a,b", "[a]{b}", "a\tb", "x" * 2000)


@pytest.mark.parametrize("ids", ["keep", "translate"])
@pytest.mark.parametrize("name", [*NAMES, *MORE_NAMES])
def test_any_name_of_a_subject(new_registry: NewRegistry, name: str, ids: str) -> None:
    ours, theirs = new_registry(), new_registry()
    at = path_of("", name).strip("/")
    ours.register(at, record("A", "x"))
    ours.register(at, record("A", "x", "y"))
    ours.ask("PUT", f"/config/{at}", {"compatibility": "FULL"})
    of = refers(("A", name, 2))
    ours.register("b", record("B", of={"home": "A"}), references=of)
    with between(ours.url, theirs.url, ids=ids) as link:
        link.settle()
        rows = link.client.compared(ask=True).rows
        assert [row.verdict for row in rows] == ["equal"] * 3
    assert theirs.schemas() == ours.schemas()
    assert theirs.level(at) == "FULL"


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_contexts_that_swap_their_names(new_registry: NewRegistry, ids: str) -> None:
    ours, theirs = new_registry(), new_registry()
    for each in "ab":
        ours.register(f":.{each}:s", record("S", each))
        of = refers(("S", "s", 1))
        ours.register(f":.{each}:t", record("T", each, of={"s": "S"}), references=of)
    with between(ours.url, theirs.url, ids=ids, contexts={"a": "b", "b": "a", ".": "."}) as link:
        link.settle()
    for here, there in ("ab", "ba"):
        for name in "st":
            mine = ours.ask("GET", f"/contexts/.{here}/subjects/{name}/versions/1")
            other = theirs.ask("GET", f"/contexts/.{there}/subjects/{name}/versions/1")
            assert mine["schema"] == other["schema"]


def test_what_refers_to_a_normalized_schema_under_another_number_is_found_again(
    new_registry: NewRegistry,
) -> None:
    ours, theirs = new_registry(), new_registry()
    head = 'syntax = "proto3";\n'
    fields = "{\n  string b = 2;\n  int32 a = 1;\n}\n"
    theirs.register("money", f"{head}message Money {{}}\n", schemaType="PROTOBUF")
    ours.register("money", f"{head}message Money {fields}", schemaType="PROTOBUF")
    of = refers(("money.proto", "money", 1))
    order = f'{head}import "money.proto";\nmessage Order {fields.replace("string", "Money")}'
    ours.register("order", order, schemaType="PROTOBUF", references=of)
    for _ in range(2):  # the second one is a process that remembers nothing
        with between(ours.url, theirs.url, ids="translate", normalize=True) as link:
            link.settle()
    assert theirs.ask("GET", "/subjects/money/versions") == [1, 2]
    assert theirs.ask("GET", "/subjects/order/versions") == [1]


def test_until_one_schema_is_kept_no_two_are_sent(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.ask("PUT", "/mode", {"mode": "IMPORT"})
    for number in range(20):
        text = record(f"S{number}", "x")
        ours.register(f"s{number:02}", text, id=1000 + number, version=1)

    def ignore(method: str, path: str, body: Body) -> Changed:
        if method == "PUT" and path.startswith("/mode"):
            return 200, body
        if method == "POST" and body is not None:
            if path.startswith(("/subjects/s00/", "/subjects/s01/")):
                return 422, {"error_code": 42201, "message": "no"}
            return {key: value for key, value in body.items() if key not in {"id", "version"}}
        return body

    with between(ours.url, new_proxy(theirs.url, ignore).url) as link:
        link.sync()
        assert len(link.failed) == 20
    assert len(theirs.schemas()) == 1


def test_copies_in_one_registry_are_not_copied_again(new_registry: NewRegistry) -> None:
    ours = new_registry()
    ours.register("a", record("A", "x"))
    for _ in range(2):
        with between(ours.url, ours.url, rename="copy-{subject}") as link:
            link.settle()
            (note,) = link.look().notes
            assert "copies are not copied again: 1 subject, such as copy-a" in note.text
    assert {name for name, _ in ours.schemas()} == {"a", "copy-a"}


def test_a_reference_that_cannot_be_read_stops_no_other(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("address", record("Address", "zip"))
    of = refers(("Address", "address", 1))
    ours.register("person", record("Person", of={"home": "Address"}), references=of)
    ours.register("alone", record("Alone", "x"))

    def old(_method: str, path: str, body: Body) -> Changed:
        if path.startswith("/schemas?"):
            return 404, {"error_code": 404}
        broken = path.startswith("/subjects/address/versions/1")
        return (500, {"message": "broken"}) if broken else body

    source = {"url": new_proxy(ours.url, old).url, "timeout": "300ms"}
    with Bringing(
        {"source": source, "target": {"url": theirs.url}, "exclude": ["address"]}
    ) as link:
        (problem,) = link.sync().problems
        assert problem.about == "person"
        assert "refers to address version 1, which could not be read: source:" in problem.text
    assert set(theirs.schemas()) == {("alone", 1)}


@pytest.mark.parametrize(
    ("more", "live", "deleted"),
    [({}, 2, set()), ({"deleted": "keep"}, 2, {3}), ({"ids": "translate"}, 1, set())],
)
def test_the_latest_version_is_one_that_is_not_deleted(
    new_registry: NewRegistry, more: dict[str, Any], live: int, deleted: set[int]
) -> None:
    ours, theirs = new_registry(), new_registry()
    for fields in (("x",), ("x", "y"), ("x", "y", "z")):
        ours.register("a", record("A", *fields))
    ours.ask("DELETE", "/subjects/a/versions/3")
    with between(ours.url, theirs.url, versions="latest", **more) as link:
        link.settle()
    assert set(theirs.schemas()) == {("a", live)}
    assert set(theirs.ask("GET", "/subjects/a/versions?deleted=true")) == {live, *deleted}
