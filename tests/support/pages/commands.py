"""The commands that pages and unit files name, as the command line itself reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

import typer
from typer._click.exceptions import MissingParameter
from typer.main import get_command

from towpath.cli.main import program, wanted_of

_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_ENDS = {"&&", "||", "|", ">", ";", "&"}
_INLINE = re.compile(r"`(towpath [^`]+)`")


def blocks(text: str, *languages: str) -> list[str]:
    """Return the code blocks of a page that are written in one of some languages."""
    return [body for language, body in _BLOCK.findall(text) if language in languages]


def shell_lines(text: str) -> Iterator[str]:
    """Yield each command line of the shell blocks of a page, joined where it is continued."""
    for block in blocks(text, "bash", "sh", "console"):
        yield from filter(None, (line.strip() for line in block.replace("\\\n", " ").splitlines()))


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `towpath` command in the shell blocks of a page."""
    for line in shell_lines(text):
        words = shlex.split(line, comments=True)
        while words and re.fullmatch(r"\w+=.*|sudo|exec", words[0]):
            words.pop(0)
        if words and words[0].rpartition("/")[2] == "towpath":
            yield list(takewhile(lambda word: word not in _ENDS, words[1:]))


def mentions(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `towpath` command in the sentences of a page, maybe not all."""
    for found in _INLINE.findall(_BLOCK.sub("", text)):
        words = list(takewhile(lambda word: word not in _ENDS, shlex.split(found)[1:]))
        if "COMMAND" not in words and not any(re.search(r"[<|]|\.\.\.", w) for w in words):
            yield words


def parsed(arguments: Sequence[str], *, whole: bool = True) -> dict[str, Any]:
    """Return the parameters that the command line makes of arguments.

    What is missing is no error where `whole` is not set.

    Raises:
        typer.TyperException: There is no such command, option, or value.
    """
    try:
        return _parsed(tuple(arguments))
    except MissingParameter:
        if whole:
            raise
    except typer.Exit:
        pass  # --version and --help
    return {}


@cache
def _group(wanted: str) -> Any:
    """Return the command line with this command loaded completely."""
    return get_command(program([wanted] if wanted else []))


@cache  # many pages and messages name the same command
def _parsed(arguments: tuple[str, ...]) -> dict[str, Any]:
    group: Any = _group(wanted_of(arguments))
    context = group.make_context("towpath", list(arguments))
    while True:
        rest = [*context._protected_args, *context.args]
        name, command, rest = group.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
        if not hasattr(command, "resolve_command"):
            return dict(context.params)
        group = command
