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
from towpath.model.errors import Problem

INTERRUPTED = 130
"""What shells expect of a program that Ctrl-C ended."""


class Output(StrEnum):
    """The two forms."""

    TEXT = "text"
    JSON = "json"


_asked: ContextVar[Output] = ContextVar("asked", default=Output.TEXT)


def remember_form(arguments: Sequence[str]) -> None:
    """Keep the form that the arguments ask for, so that a complaint about them has it, too."""
    words = [*arguments, ""]
    apart = any(
        word in {"--output", "-o"} and after == Output.JSON for word, after in pairwise(words)
    )
    joined = not {"--output=json", "-ojson"}.isdisjoint(words)
    _asked.set(Output.JSON if apart or joined else Output.TEXT)


OutputOption = Annotated[
    Output,
    typer.Option(
        "--output",
        "-o",
        help="Show text, or one JSON document.",
    ),
]
"""Type of the option `--output` that every command has; `show` knows what was asked for."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a command did not do what it was asked for."""

    code: str
    text: str
    exit_code: int
    problems: tuple[Problem, ...] = ()


def show(text: RenderableType, data: Mapping[str, Any]) -> None:
    """Print a result in the form that was asked for.

    Args:
        text: It for people.
        data: It for programs.
    """
    if _asked.get() is Output.JSON:
        _print_json(data)
    else:
        console().print(text, soft_wrap=isinstance(text, str))


def show_failure(failure: Failure) -> int:
    """Print a failure and return the exit code; JSON goes where a program reads the result."""
    if _asked.get() is Output.JSON:
        problems = [{"path": problem.path, "text": problem.text} for problem in failure.problems]
        _print_json({"error": {"code": failure.code, "text": failure.text, "problems": problems}})
    else:
        sys.stderr.write(failure.text + "\n")
    return failure.exit_code


def _print_json(data: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
