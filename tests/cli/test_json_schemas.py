"""Schemas of JSON outputs: each command has one, and the committed ones are fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from towpath.cli.main import COMMANDS, program
from towpath.cli.show.json_schemas import names_by_command, outputs, page, text

DOCS = Path(__file__).parents[2] / "docs"
STALE = "stale; run: python -m towpath.cli.show.json_schemas docs"


def commands() -> Iterator[str]:
    """Yield the names of all commands with `--output`, such as `groups ls`."""
    for name in COMMANDS:
        yield from _within(get_command(program([name])).commands[name], name)  # type: ignore[attr-defined]


def _within(command: Any, name: str) -> Iterator[str]:
    for under, each in getattr(command, "commands", {}).items():
        yield from _within(each, f"{name} {under}")
    if any("--output" in each.opts for each in command.params):
        yield name


def test_each_command_has_a_schema() -> None:
    """One without is to be added to the `json_outputs.py` of its product."""
    assert set(commands()) == set(names_by_command())
    assert sum(len(each.commands) for each in outputs().values()) == len(names_by_command())


@pytest.mark.parametrize("name", outputs())
def test_the_committed_schema_is_fresh(name: str) -> None:
    assert (DOCS / "output" / f"{name}.schema.json").read_text() == text(name), STALE


def test_no_schema_is_of_nothing() -> None:
    found = {each.name for each in (DOCS / "output").iterdir()}
    assert found == {f"{name}.schema.json" for name in outputs()}


def test_the_page_that_lists_schemas_is_fresh() -> None:
    assert (DOCS / "reference" / "json-output.md").read_text() == page(), STALE
