"""The reference page of all commands.

`python -m towpath.cli.reference > docs/reference/commands.md` writes it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

from typer.main import get_command

from towpath.cli.main import COMMANDS, program

_INTRODUCTION = """\
# Commands

<!-- Written by `python -m towpath.cli.reference`; change the commands there, not this page. -->

`towpath COMMAND --help` shows the same in the terminal. `towpath --debug COMMAND` shows where an
internal error came from. What commands return: [Exit codes](exit-codes.md).

Every command takes `-e FILE` (variables from the lines `NAME=value` of a file), and with files of
Redpanda Connect `--set PATH=VALUE`, `--chilled` and `--pair LABEL`
([Redpanda Connect](../redpanda-connect.md)).
"""


def markdown() -> str:
    """Return the reference page of commands."""
    return "\n".join([_INTRODUCTION, *(line for name in COMMANDS for line in _lines(name))])


def _lines(name: str) -> Iterator[str]:
    """Yield the section of a command, or of each command of a group."""
    whole: Any = get_command(program([name]))
    yield from _command(f"towpath {name}", whole.commands[name])


def _command(path: str, command: Any) -> Iterator[str]:
    for name, each in getattr(command, "commands", {}).items():
        yield from _command(f"{path} {name}", each)
    if hasattr(command, "commands"):
        return
    context = command.context_class(command, info_name=path)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    help_ = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(command.help or ""))
    yield f"## `{path.removeprefix('towpath ')}`\n\n{help_}\n\n```text\n{usage}\n```\n"
    records = [each.get_help_record(context) for each in command.params]
    rows = [_row(*record) for record in records if record]
    if rows:
        yield f"| argument or option | meaning |\n|---|---|\n{''.join(rows)}"


def _row(name: str, meaning: str) -> str:
    cells = [re.sub(r"\s+", " ", cell).replace("|", r"\|") for cell in (f"`{name}`", meaning)]
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
