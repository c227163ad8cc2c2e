"""Problems that pydantic found, in our words, each with its path in the file."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from towpath.config.document import path_text
from towpath.config.shape import Place, keys_at, parents_of, without_tags
from towpath.model.errors import ConfigProblem

ENVIRONMENT = "towpath_environment"
"""Type of an error about this machine (a variable or file), not about the YAML text."""

_PLACED = "towpath_placed"

_WANTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping of keys to values",
    "tuple_type": "a list, such as [a, b]",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
_CHOICES = {
    "literal_error": "expected",
    "enum": "expected",
    "union_tag_invalid": "expected_tags",
}
_SENTENCES = {
    "missing": "is required",
    "union_tag_not_found": "is required",
    "string_too_short": "must not be empty",
}


def not_empty(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Check that a list has an entry; pydantic's own check does not count invalid entries."""
    if not entries:
        raise ValueError("needs at least one entry")
    return entries


def environment_error(text: str) -> PydanticCustomError:
    """Return the error about a variable or file that is missing on this machine."""
    return PydanticCustomError(ENVIRONMENT, "{text}", {"text": text})


def placed_error(text: str, *below: str) -> PydanticCustomError:
    """Return an error whose path continues with `below`."""
    return PydanticCustomError(_PLACED, "{text}", {"text": text, "below": below})


def problems_of(
    error: ValidationError, root: type[BaseModel]
) -> Iterable[tuple[Place, str, ConfigProblem]]:
    """Yield place, type and sentence of each problem that pydantic found."""
    for details in error.errors(include_url=False):
        place = without_tags(details["loc"])
        place += tuple(details.get("ctx", {}).get("below", ()))
        text = _text(details, root)
        if details["type"] in {"union_tag_invalid", "union_tag_not_found"}:
            place += ("mechanism",)
        yield place, details["type"], ConfigProblem(path_text(place), text)


def _text(details: ErrorDetails, root: type[BaseModel]) -> str:
    kind, ctx = details["type"], details.get("ctx", {})
    if kind in _WANTED:
        return must_be(_WANTED[kind], details["input"])
    if kind in _CHOICES:
        return not_one_of(_chosen(details["input"]), _listed(ctx[_CHOICES[kind]]))
    if kind == "extra_forbidden":
        return _unknown_key(details["loc"], root)
    if kind == "value_error":
        return str(ctx["error"])
    return _SENTENCES.get(kind, details["msg"])


def must_be(wanted: str, value: object) -> str:
    """Return the sentence for a value of the wrong type; the value itself stays hidden."""
    got = _kind_of(value)
    quotes = (
        "; put it in quotes" if wanted == "a text" and got in {"a number", "true or false"} else ""
    )
    return f"must be {wanted}, not {got}{quotes}"


def _kind_of(value: object) -> str:
    """Return the type of a value, in the words of YAML."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def not_one_of(value: object, choices: list[str]) -> str:
    """Return the sentence for a word that is none of the choices.

    Only the first word of the value is shown: where a comma is missing, the next may be a secret.
    """
    if not isinstance(value, str):
        return must_be(f"one of {', '.join(choices)}", value)
    first, blank, _ = value[:40].partition(" ")
    return f"{first + '*' * len(blank)!r} is not one of {', '.join(choices)}"


def _chosen(value: object) -> object:
    return value.get("mechanism") if isinstance(value, dict) else value


def _listed(listed: str) -> list[str]:
    return [word.strip("' ") for word in listed.replace(" or ", ", ").split(",")]


def _unknown_key(loc: tuple[int | str, ...], root: type[BaseModel]) -> str:
    *_, key = loc
    known, elsewhere = keys_at(root, loc[:-1])
    if key in elsewhere:
        return f"is not used with {loc[-2]}"
    parents = parents_of(root, str(key))
    if parents:
        return f"unknown key here; it belongs into {' or '.join(parents)}"
    near = get_close_matches(str(key), known, n=1)
    if near:
        return f"unknown key, did you mean {near[0]}?"
    return f"unknown key; known here are {', '.join(known)}"
