"""Whether the results of commands fit the schemas of their JSON outputs.

In this process each result is looked at that a command shows, as text, too: it is shown by `show`,
to which it is given as data. Of other processes, what they print with `--output json` is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import RenderableType

from towpath.cli import main
from towpath.cli.show import output
from towpath.cli.show.json_schemas import adapter, names_by_command


class ShownResults:
    """Looks at the results that commands show in this process.

    It must be made before any command is imported, as each imports `show` for itself.
    """

    def __init__(self) -> None:
        self._arguments: Sequence[str] = ()
        self._remember, self._show = output.remember_form, output.show
        patch = pytest.MonkeyPatch()
        patch.setattr(main, "remember_form", self._begin)
        patch.setattr(output, "show", self._checked)

    def _begin(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._remember(arguments)

    def _checked(self, text: RenderableType, data: Mapping[str, Any], markdown: str = "") -> None:
        command = command_of(self._arguments)
        if command:  # else a test shows something of its own
            _require_fits(command, names_by_command()[command], json.dumps(data))
        self._show(text, data, markdown)


def require_fits(arguments: Sequence[str], printed: str) -> None:
    """Fail if a command printed JSON that its schema does not have.

    Args:
        arguments: The arguments of the command.
        printed: All that it wrote to the standard output.
    """
    if not asks_for_json(arguments) or not printed.strip():
        return
    command = command_of(arguments)
    is_error = json.loads(printed).keys() == {"error"}
    _require_fits(command, "error" if is_error else names_by_command()[command], printed)


def _require_fits(command: str, name: str, told: str) -> None:
    try:
        adapter(name).validate_json(told, strict=True)
    except ValidationError as error:
        where = f"towpath {command}, {name}.schema.json"
        raise AssertionError(f"{where}: {error.errors(include_url=False)[:3]} in {told}") from None


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether arguments ask for JSON."""
    if {"-h", "--help"} & set(arguments):
        return False
    named = any(a in {"-o", "--output"} and b == "json" for a, b in pairwise(arguments))
    return named or bool({"-ojson", "--output=json"} & set(arguments))


def command_of(arguments: Sequence[str]) -> str:
    """Return the command that arguments name, such as `groups ls`; "" for none that has a schema.

    Options of the program come before it, and no command has an option before its second word.
    """
    words = [word for word in arguments if not word.startswith("-")]
    known = names_by_command()
    return next((each for each in (" ".join(words[:2]), *words[:1]) if each in known), "")
