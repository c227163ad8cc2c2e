"""GUIDs of schemas, which the registry of the tests lacks: a proxy before it gives them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.support.registries.registry import LocalRegistry
from tests.support.registries.registry_proxy import Body, Changed

_NONE = 404, {"error_code": 40403, "message": "no such schema"}


def guid_of(schema: Any, salt: str = "") -> UUID:
    """Return the GUID of a schema, a digest of its text."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    data = salt + json.dumps(json.loads(text))
    return UUID(hashlib.md5(data.encode()).hexdigest())  # noqa: S324


@dataclass
class WithGuids:
    """A registry that has GUIDs; `answer` is the `change` of a proxy before it.

    Attributes:
        registry: The registry without them.
        salt: Makes the GUIDs others than those of another registry, as where a schema had to be
            changed for it.
    """

    registry: LocalRegistry
    salt: str = ""

    def answer(self, method: str, path: str, body: Body) -> Changed:
        """Answer a request."""
        match path.partition("?")[0].split("/")[1:]:
            case ["schemas", "guids", guid, *rest]:
                ids = [id_ for id_, text in self._texts() if self._guid(text) == guid]
                if rest:
                    return 200, [{"context": ".", "id": each} for each in ids]
                return self.registry.answer("GET", f"/schemas/ids/{ids[0]}") if ids else _NONE
            case ["schemas", "ids", _]:
                status, said = self.registry.answer(method, path, body)
                return status, {**said, "guid": self._guid(said["schema"])}
            case ["subjects", _, "versions"] if method == "POST" and body is not None:
                status, said = self.registry.answer(method, path, body)
                return status, {**said, "guid": self._guid(body["schema"])}
            case _:
                return body

    def _guid(self, text: str) -> str:
        return str(guid_of(text, self.salt))

    def _texts(self) -> list[tuple[int, str]]:
        return [*self.registry.schemas().values()]
