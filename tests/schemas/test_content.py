"""Between two real registries: what schemas and subjects consist of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.registries.registry import LocalRegistry, record, refers
from tests.support.registries.schema_worlds import Bringing, between, fill
from towpath.schemas.steps import RegisterSchemas

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]


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


def test_versions_that_are_deleted_at_the_source_stay_out(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    ours.ask("DELETE", "/subjects/address/versions/1")
    with between(ours.url, theirs.url) as link:
        link.sync()
        assert link.look().steps == ()
    assert set(theirs.schemas()) == {("address", 2), ("person", 1), ("order", 1)}


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


def test_metadata_and_rules_move_or_are_named_as_lost(new_registry: NewRegistry) -> None:
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
