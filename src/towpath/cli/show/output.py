"""The results of commands: text for people, or one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from towpath.model.errors import ConfigProblem
from towpath.model.quoting import harmless
from towpath.runbook import pointers

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_PIPE_WIDTH = 1_000_000
"""Characters of a line where there is no terminal: grep cannot search wrapped lines."""


class Output(StrEnum):
    """The two output forms."""

    TEXT = "text"
    JSON = "json"


class Form(StrEnum):
    """The output forms of a plan, which people also review."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class RowsForm(StrEnum):
    """The output forms of the rows of a query."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


_asked: ContextVar[Form] = ContextVar("asked", default=Form.TEXT)


def remember_form(arguments: Sequence[str]) -> None:
    """Store the output form in the arguments, for errors about the arguments themselves."""
    words = [*arguments, ""]
    said = {after for word, after in pairwise(words) if word in {"--output", "-o"}}
    for start in ("--output=", "-o"):
        said |= {word.removeprefix(start) for word in words if word.startswith(start)}
    _asked.set(next((form for form in Form if form in said), Form.TEXT))


OutputOption = Annotated[
    Output,
    typer.Option(
        "--output",
        "-o",
        help="Show text, or one JSON document.",
    ),
]
"""Type of the option `--output`, which every command has; `show` reads the wanted form."""

FormOption = Annotated[
    Form,
    typer.Option("--output", "-o", help="Show text, one JSON document, or Markdown for a review."),
]
"""Type of the option for commands that show a plan."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a command failed."""

    code: str
    text: str
    exit_code: int
    problems: tuple[ConfigProblem, ...] = ()


def show(text: RenderableType, data: Mapping[str, Any], markdown: str = "") -> None:
    """Print a result in the requested form.

    Args:
        text: The result for people.
        data: The result for programs.
        markdown: The result for a review, if it has that form.
    """
    if _asked.get() is Form.JSON:
        print_json(data)
    elif _asked.get() is Form.MARKDOWN and markdown:
        sys.stdout.write(markdown)
    elif isinstance(text, str):
        sys.stdout.write(f"{text}\n")
    else:
        console().print(text)


def show_failure(failure: Failure) -> int:
    """Print a failure and return the exit code; JSON goes to stdout, as results do."""
    if _asked.get() is Form.JSON:
        print_json(failure_as_json(failure))
    else:
        sys.stderr.write("\n".join([failure.text, *pointers([failure.code])]) + "\n")
    return failure.exit_code


def failure_as_json(failure: Failure) -> dict[str, Any]:
    """Return the document of an error."""
    problems = [_facts(problem) for problem in failure.problems]
    return {"error": {"code": failure.code, "text": failure.text, "problems": problems}}


def _facts(problem: ConfigProblem) -> dict[str, str | int | None]:
    spot = problem.spot
    return {
        "path": problem.path,
        "text": problem.text,
        "file": spot.file if spot else None,
        "line": spot.line if spot else None,
        "column": spot.column if spot else None,
    }


def wants_json() -> bool:
    """Return whether the arguments ask for JSON."""
    return _asked.get() is Form.JSON


def print_json(data: Mapping[str, Any]) -> None:
    """Print a document for programs."""
    sys.stdout.write(json.dumps(data, indent=2) + "\n")


def console(*, stderr: bool = False) -> Console:
    """Return the console for output, as wide as the terminal or `COLUMNS`.

    Without either, lines are as long as they are.
    """
    from rich.console import Console  # noqa: PLC0415  # a plain text waits for none of it

    known = (sys.stderr if stderr else sys.stdout).isatty() or "COLUMNS" in os.environ
    width = None if known else _PIPE_WIDTH  # rich reads `COLUMNS` itself
    return Console(stderr=stderr, width=width, highlight=False, markup=False)


def line(text: str) -> Text:
    """Return a line that wraps and is never cut."""
    from rich.text import Text  # noqa: PLC0415  # as in `console`

    return Text(harmless(text), overflow="fold")
