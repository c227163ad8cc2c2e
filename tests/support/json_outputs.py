"""Whether what a command printed with `--output json` fits the schema of that command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from pydantic import ValidationError

from towpath.cli.show.json_schemas import adapter, names_by_command


def require_fits(arguments: Sequence[str], printed: str) -> None:
    """Fail if a command printed JSON that its schema does not have.

    Args:
        arguments: The arguments of the command.
        printed: All that it wrote to the standard output.
    """
    if not asks_for_json(arguments) or not printed.strip():
        return
    command = command_of(arguments)
    name = "error" if json.loads(printed).keys() == {"error"} else names_by_command()[command]
    try:
        adapter(name).validate_json(printed, strict=True)
    except ValidationError as error:
        raise AssertionError(f"`towpath {command}`: {error}\nin: {printed}") from None


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
