"""The JSON schema of each kind of file, for editors, generated from the fields.

`python -m towpath.settings.schema > docs/link.schema.json` writes it anew, and with the argument
`archive` that of an archive.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from towpath.settings.kinds import KINDS, FileKind

_VARIABLE = {"type": "string", "pattern": r"\$\{[^{}]*\}"}
"""A variable may stand wherever the file has a text."""


def schema(kind: FileKind = FileKind.LINK) -> dict[str, Any]:
    """Return the schema of a kind of file (JSON Schema 2020-12).

    A file that it accepts may still have problems.
    """
    made = _adapted(KINDS[kind].model.model_json_schema(mode="validation"))
    assert isinstance(made, dict)  # noqa: S101, a mapping stays one
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def text(kind: FileKind = FileKind.LINK) -> str:
    """Return the JSON schema of a kind of file, as text."""
    return json.dumps(schema(kind), indent=2) + "\n"


def _adapted(part: Any) -> Any:
    """Return a part of pydantic's schema as it fits the file, where variables are still texts."""
    if isinstance(part, list):
        return [_adapted(each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {"anyOf" if key == "oneOf" else key: _adapted(value) for key, value in part.items()}
    # Null is no value in the file; `discriminator` is a word of OpenAPI alone.
    made.pop("discriminator", None)
    if "anyOf" in made:
        made["anyOf"] = [each for each in made["anyOf"] if each != {"type": "null"}]
    if made.get("default", "") is None:
        made.pop("default")
    return _or_variable(made) if made.get("type") == "string" else made


def _or_variable(made: dict[str, Any]) -> dict[str, Any]:
    if not made.keys() & {"enum", "const", "pattern"}:
        return made
    about: dict[str, Any] = {
        key: made.pop(key) for key in ("title", "description", "default") if key in made
    }
    return {**about, "anyOf": [made, _VARIABLE]}


if __name__ == "__main__":
    sys.stdout.write(text(*map(FileKind, sys.argv[1:2])))
