"""The page of exit codes tells what the code does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import towpath
from towpath.cli import exits
from towpath.cli.main import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == exits.markdown(), exits.__doc__


@pytest.mark.slow
def test_every_error_of_the_program_is_on_it_with_a_known_exit_code() -> None:
    found = set[str]()
    for path in Path(towpath.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Error(" in text else ():
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                found |= {
                    str(ast.literal_eval(line.value))
                    for line in node.body
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code"
                }
    assert set(exits.kinds()) == found
    assert set(exits.kinds().values()) <= {each.number for each in exits.ALL}


def test_every_command_that_can_leave_something_out_is_on_it() -> None:
    named = set(re.findall(r"^\| `(\w+)(?: \w+)?` \|", exits.markdown(), re.MULTILINE))
    assert named <= set(COMMANDS)
    whole = {"init", "schema", "dev", "explain", "history", "pack", "convert", "transform"}
    assert set(COMMANDS) - named == whole
