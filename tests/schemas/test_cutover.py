"""A run and a cutover bring schemas over, and a cutover refuses where something is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, create_topic, produce
from tests.support.links import Link, registries
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def test_a_cutover_ends_only_with_all_schemas(
    source: SharedCluster,
    target: SharedCluster,
    new_registry: Callable[..., LocalRegistry],
    new_name: Callable[[str], str],
    here: Here,
    tmp_path: Path,
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("orders-value", record("Order", "x"))
    name = new_name("with-schemas")
    create_topic(source.bootstrap, name)
    produce(source.bootstrap, name, [Record(b"k", b"\0\0\0\0\1\2")])
    refusing = True

    def refuse(method: str, path: str, body: Body) -> Changed:
        refused = refusing and method == "POST" and path.endswith("/versions")
        return (422, {"error_code": 42201, "message": "no"}) if refused else body

    proxy = RegistryProxy(theirs.url, refuse)
    file = Link(tmp_path, source, target, name, schemas=registries(ours.url, proxy.url)).file
    rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "0", *MASTER)
    assert theirs.schemas() == {}, rehearsed.said
    refused = here.on_spark("cutover", str(file), "--quiet", "0")
    assert refused.code == 3, refused.said
    assert "orders-value" in refused.out
    assert "register orders-value version 1: no (42201)" in refused.out
    refusing = False
    # Records name a schema of the target that is another one: no step mends that.
    theirs.ask("PUT", "/mode", {"mode": "IMPORT"})
    theirs.register("somebody-else", record("Other", "y"), id=77, version=1)
    theirs.ask("PUT", "/mode", {"mode": "READWRITE"})
    produce(source.bootstrap, name, [Record(b"k", b"\0\0\0\0\x4d\2")] * 2)
    ours.register(f"{name}-value", record("Refund", "why"))
    unproven = here.on_spark("cutover", str(file), "--quiet", "0")
    assert unproven.code == 3, unproven.said
    said = " ".join(unproven.out.split())
    assert f"{name}: schema id 77 of the value in 2 records" in said
    assert "the source has no such id, but the target has" in said
    assert "schemas: the target answers equally for 1 of 2 schema ids" in said
    rehearsed = here.on_spark("cutover", str(file), "--dry-run", "--quiet", "0", "-o", "json")
    assert not rehearsed.json["schemas"]["equal"]
    ended = here.on_spark("cutover", str(file), "--quiet", "0", "--without-schemas")
    assert ended.code == 0, ended.said
    assert ours.schemas().items() <= theirs.schemas().items()
    proxy.stop()
