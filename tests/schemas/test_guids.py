"""GUIDs of schemas on both sides. The registry of the tests has none, so a proxy gives them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from tests.support.registry import LocalRegistry, record
from tests.support.registry_proxy import Body, Changed, RegistryProxy
from towpath.config import RegistryConfig
from towpath.model.nouns import Side
from towpath.registry.registry import Registry
from towpath.schemas.guids import guid_on_target

pytestmark = pytest.mark.broker
Sides = list[tuple[LocalRegistry, Registry]]
_NONE = 404, {"error_code": 40403, "message": "no such schema"}


def guid_of(schema: Any) -> UUID:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return UUID(hashlib.md5(json.dumps(json.loads(text)).encode()).hexdigest())  # noqa: S324


@dataclass
class WithGuids:
    """A registry that has GUIDs: digests of the texts of its schemas."""

    registry: LocalRegistry

    def answer(self, method: str, path: str, body: Body) -> Changed:
        match path.split("/")[1:]:
            case ["schemas", "guids", guid, *rest]:
                ids = [id_ for id_, text in self.texts() if str(guid_of(text)) == guid]
                if rest:
                    return 200, [{"context": ".", "id": each} for each in ids]
                return self.registry.answer("GET", f"/schemas/ids/{ids[0]}") if ids else _NONE
            case ["schemas", "ids", _]:
                status, said = self.registry.answer(method, path, body)
                return status, {**said, "guid": str(guid_of(said["schema"]))}
            case _:
                return body

    def texts(self) -> list[tuple[int, str]]:
        return [*self.registry.schemas().values()]


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
