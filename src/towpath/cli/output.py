"""What a command shows: text for people, or one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from towpath.cli.render import console
from towpath.model.errors import ConfigProblem

INTERRUPTED = 130
"""What shells expect of a program that Ctrl-C ended."""


class Output(StrEnum):
    """The two forms."""

    TEXT = "text"
    JSON = "json"


class Form(StrEnum):
    """The forms of what is reviewed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


_asked: ContextVar[Form] = ContextVar("asked", default=Form.TEXT)


def remember_form(arguments: Sequence[str]) -> None:
    """Keep the form that the arguments ask for, so that a complaint about them has it, too."""
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
"""Type of the option `--output` that every command has; `show` knows what was asked for."""

FormOption = Annotated[
    Form,
    typer.Option("--output", "-o", help="Show text, one JSON document, or Markdown for a review."),
]
"""Its type where what is shown is reviewed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command did not do what it was asked for."""

    code: str
    text: str
    exit_code: int
    problems: tuple[ConfigProblem, ...] = ()


def show(text: RenderableType, data: Mapping[str, Any], markdown: str = "") -> None:
    """Print a result in the form that was asked for.

    Args:
        text: It for people.
        data: It for programs.
        markdown: It for a review, where it has that form.
    """
    if _asked.get() is Form.JSON:
        _print_json(data)
    elif _asked.get() is Form.MARKDOWN and markdown:
        sys.stdout.write(markdown)
    else:
        console().print(text, soft_wrap=isinstance(text, str))


def show_failure(failure: Failure) -> int:
    """Print a failure and return the exit code; JSON goes where a program reads the result."""
    if _asked.get() is Form.JSON:
        problems = [{"path": problem.path, "text": problem.text} for problem in failure.problems]
        _print_json({"error": {"code": failure.code, "text": failure.text, "problems": problems}})
    else:
        sys.stderr.write(failure.text + "\n")
    return failure.exit_code


def _print_json(data: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
