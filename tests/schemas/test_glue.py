"""The script of docs/howto/leave-glue.md registers an export of AWS Glue, and prints the map."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.pages.commands import blocks
from tests.support.registries.registry import LocalRegistry, record

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "leave-glue.md"
FIRST, SECOND, OTHER = (f"{n}f9a1f6e-52a7-4c8e-9d6b-0a4c1f6f2b11" for n in range(3))


def version(id_: str, name: str, number: int, schema: Any, **more: str) -> str:
    made = {
        "SchemaVersionId": id_,
        "SchemaDefinition": json.dumps(schema),
        "DataFormat": "AVRO",
        "SchemaArn": f"arn:aws:glue:eu-central-1:123456789012:schema/my-registry/{name}",
        "VersionNumber": number,
        "Status": "AVAILABLE",
        "CreatedTime": "2026-01-31T08:00:00Z",
    }
    return json.dumps(made | more, indent=4)


@pytest.mark.broker
def test_the_script_registers_an_export_and_prints_the_map(
    new_registry: Callable[..., LocalRegistry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = new_registry()
    order = record("Order", "x")
    exported = [
        version(SECOND, "orders", 2, record("Order", "x", "y")),
        version(FIRST, "orders", 1, order),
        version(OTHER, "a/b", 1, order, Status="FAILURE"),
    ]
    (tmp_path / "glue.json").write_text("\n".join(exported))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARGET_REGISTRY", registry.url)
    [script] = blocks(PAGE.read_text(), "python")
    for _ in range(2):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(script, PAGE.name, "exec"), {})  # noqa: S102, ours
        found = YAML(typ="safe").load(said.getvalue())["glue"]
        ids = {at: id_ for at, (id_, _) in registry.schemas().items()}
        assert found == {FIRST: ids["orders-value", 1], SECOND: ids["orders-value", 2]}
        assert len(ids) == 2
