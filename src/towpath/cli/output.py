"""What a command shows: text for people, or one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from towpath.cli.render import console
from towpath.model.errors import Problem


class Output(StrEnum):
    """The two forms."""

    TEXT = "text"
    JSON = "json"


_asked: ContextVar[Output] = ContextVar("asked", default=Output.TEXT)


def remember(output: Output) -> Output:
    """Keep the form that was asked for, and return it as options do."""
    _asked.set(output)
    return output


OutputOption = Annotated[
    Output,
    typer.Option(
        "--output",
        "-o",
        callback=remember,
        is_eager=True,  # so that a complaint about the other arguments knows its form, too
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
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
