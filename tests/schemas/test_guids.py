"""GUIDs of schemas on both sides. The registry of the tests has none, so a proxy gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest

from tests.support.registries.guids import WithGuids, guid_of
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import RegistryProxy
from towpath.model.nouns import Side
from towpath.registry.registry import Registry
from towpath.schemas.guids import guid_on_target
from towpath.settings import RegistryConfig

pytestmark = pytest.mark.broker
Sides = list[tuple[LocalRegistry, Registry]]


@pytest.fixture
def sides(
    new_registry: Callable[..., LocalRegistry],
) -> Iterator[Sides]:
    with ExitStack() as stack:
        made = []
        for side in Side:
            held = new_registry()
            proxy = RegistryProxy(held.url, WithGuids(held).answer)
            stack.callback(proxy.stop)
            asked = Registry(RegistryConfig.model_validate({"url": proxy.url}), side, 1)
            stack.callback(asked.close)
            made.append((held, asked))
        yield made


def test_a_guid_is_the_same_unless_the_schema_had_to_be_changed(sides: Sides) -> None:
    (ours, source), (theirs, target) = sides
    same, changed, missing = (record(name, "x") for name in ("Same", "Changed", "Missing"))
    other = record("Changed", "x") | {"doc": "without metadata"}
    for name, schema in (("same", same), ("changed", changed), ("missing", missing)):
        ours.register(name, schema)
    theirs.register("same", same)
    ids = {ours.version("changed")["id"]: theirs.register("changed", other)}
    assert guid_on_target(guid_of(same), source, target, ids.get) == guid_of(same)
    assert guid_on_target(guid_of(changed), source, target, ids.get) == guid_of(other)
    assert guid_on_target(guid_of(missing), source, target, ids.get) is None
    assert guid_on_target(UUID(int=5), source, target, ids.get) is None
