"""JSON schemas of JSON outputs, made of their types, and the page that lists them.

`python -m towpath.cli.show.json_schemas docs` writes the schemas and the page anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from pydantic import TypeAdapter

from towpath.model.json_shapes import JsonOutput

_TABLES = (
    "towpath.cli.show.json_outputs",
    "towpath.mirror.show.json_outputs",
    "towpath.archive.show.json_outputs",
    "towpath.kraft.show.json_outputs",
    "towpath.gateway.json_outputs",
    "towpath.http.shapes",
)
"""Modules with the outputs of each product, which keeps its own commands."""
_OTHERWISE = {
    "error": "each",
    "pairs": "`plan`, `status`, `verify`, `run` of a file with several pairs",
}
"""What outputs belong to that no command alone writes."""
_PAGE = """\
# JSON output

<!-- Written by `python -m towpath.cli.show.json_schemas docs`; change the tables of outputs, not\
 this page. -->

Every command that shows something takes `--output json` (`-o json`) and then writes one JSON\
 document to standard output. Keys keep their names and meanings; a later version may add keys.\
 Instead of its result, a command that fails writes an error (the first row), also to the file\
 of its `--report`, and ends with its [exit code](exit-codes.md).

Each output has a schema (JSON Schema 2020-12), in `docs/output/` of the repository:

| commands | schema | the most useful keys |
|---|---|---|
{rows}

Codes are explained by `towpath explain CODE` and in the [runbook](../runbook/index.md). Times are\
 milliseconds since 1970 where they are numbers, offsets with `end` in their names lie after the\
 last record, and -1 stands for an unknown number.
"""


@cache
def outputs() -> Mapping[str, JsonOutput]:
    """Return the JSON outputs of all commands, by the names of their schemas."""
    found: dict[str, JsonOutput] = {}
    for table in _TABLES:
        found |= import_module(table).OUTPUTS
    return found


@cache
def names_by_command() -> Mapping[str, str]:
    """Return the name of the schema for each command, such as `groups` for `groups ls`."""
    return {command: name for name, each in outputs().items() for command in each.commands}


@cache
def adapter(name: str) -> TypeAdapter[object]:
    """Return the reader of a JSON output, by the name of its schema."""
    return TypeAdapter(outputs()[name].type)


def text(name: str) -> str:
    """Return the schema of a JSON output (JSON Schema 2020-12), as its file contains it."""
    made = adapter(name).json_schema(mode="serialization")
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    return json.dumps(whole, indent=2) + "\n"


def page() -> str:
    """Return the page of the documentation that lists all schemas."""
    return _PAGE.format(rows="\n".join(_rows()))


def _rows() -> Iterator[str]:
    for name, each in outputs().items():
        commands = ", ".join(f"`towpath {command}`" for command in each.commands)
        keys = ", ".join(f"`{key}`" for key in each.keys)
        schema = f"[{name}](../output/{name}.schema.json)"
        yield f"| {commands or _OTHERWISE[name]} | {schema} | {keys} |"


def _write(docs: Path) -> None:
    for name in outputs():
        (docs / "output" / f"{name}.schema.json").write_text(text(name), encoding="utf-8")
    (docs / "reference" / "json-output.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
