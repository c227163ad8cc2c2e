"""Variables in the text of a file: `${NAME}`, `${NAME:default}`, `${NAME|base64decode}`.

They are replaced in the text before it is read as YAML, as Connect does (benthos 4,
internal/config/env_vars.go), so that a variable may hold a list.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass

from towpath.model.foreign import foreign

_NAME = r"[0-9A-Za-z_.]+"
_DEFAULT = r"(?::(?:\$\{[^}]+\}|[^}])*)?"
_REFERENCE = re.compile(rf"\$\{{({_NAME})({_DEFAULT})(?:\|([0-9A-Za-z]+))?\}}")
_ESCAPED = re.compile(rf"\$\{{(\{{{_NAME}{_DEFAULT}\}})\}}")
_DECODE = "base64decode"


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its variables replaced, and the errors in them.

    Attributes:
        text: The text.
        faults: What is wrong, each with its line and column (from 1) in the text as it was.
        open: Lines with a variable that is not set and has no default, which stays as it is.
        unset: The variables that stay as they are, with the line and column of each.
    """

    text: str
    faults: tuple[tuple[int, int, str], ...]
    open: frozenset[int]
    unset: tuple[tuple[str, int, int], ...] = ()


def fill(text: str, environment: Mapping[str, str], *, required: bool = True) -> Filled:
    """Replace the variables of a text.

    Args:
        text: The text of a file.
        environment: The variables.
        required: Whether one that is not set and has no default is a fault.
    """
    faults: list[tuple[int, int, str]] = []
    left: set[int] = set()
    unset: list[tuple[str, int, int]] = []

    def put_in(found: re.Match[str]) -> str:
        name, default, function = found[1], found[2], found[3]
        value = environment.get(name)
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        if not (value or default):
            left.add(line)
        if value is None and not default:
            unset.append((name, line, column))
            if required:
                faults.append((line, column, f"variable {name} is not set, and has no default"))
            return found[0]
        try:
            if default and not value:
                default, function = _function_of(default, function)
                value = default
            value = _decoded(value or "", function)
        except ValueError as error:
            faults.append((line, column, foreign(error)))
            return ""
        return value.replace("\n", "\\n")

    made = _ESCAPED.sub(r"$\1", _REFERENCE.sub(put_in, text))
    return Filled(made, tuple(faults), frozenset(left), tuple(unset))


def _function_of(default: str, function: str | None) -> tuple[str, str | None]:
    """Return a default without its colon, and the function behind its last bar."""
    default = default[1:]
    if function is None and "|" in default:
        default, _, function = default.rpartition("|")
    return default, function


def _decoded(value: str, function: str | None) -> str:
    if function is None:
        return value
    if function != _DECODE:
        raise ValueError(f"the function {function} is not known; there is {_DECODE}")
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"{_DECODE}: the value is not base64 of a text") from None
