"""Pydantic's problems as Towpath's sentences, each with its path in the file."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from towpath.settings.kafka_names import advice
from towpath.settings.shape import PLACED, TAGGED, Place, keys_at, parents_of, without_tags
from towpath.settings.spots import Fault

ENVIRONMENT = "towpath_environment"
"""Type of an error about this machine (a variable or file), not about the YAML text."""

_OF_KEY = "[key]"
"""What pydantic puts behind a key of a mapping that is wrong itself."""

_WANTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
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
    "string_pattern_mismatch": "must match {pattern}",
}
_BOUNDS = {
    "greater_than_equal": ("small", "least", "ge"),
    "less_than_equal": ("large", "most", "le"),
}
_BOOLEANS = {"yes": True, "no": False, "on": True, "off": False, "true": True, "false": False}
_SHOWN = 40
"""Most characters of a wrong value to show."""


def not_empty(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Raise if a list is empty; pydantic's own check does not count invalid entries."""
    if not entries:
        raise ValueError("needs at least one entry")
    return entries


def environment_error(text: str) -> PydanticCustomError:
    """Return the error about a variable or file that is missing on this machine."""
    return PydanticCustomError(ENVIRONMENT, "{text}", {"text": text})


def placed_error(text: str, *below: str | int, about: tuple[str, ...] = ()) -> PydanticCustomError:
    """Return an error for a place below the section.

    Args:
        text: What is wrong.
        below: How the path of the section continues.
        about: Other keys of the section on whose values the error depends.
    """
    context = {"text": text, "below": below, "about": [(key,) for key in about]}
    return PydanticCustomError(PLACED, "{text}", context)


def faults_of(error: ValidationError, root: type[BaseModel]) -> Iterable[tuple[str, Fault]]:
    """Yield the pydantic type and Towpath's sentence of each problem."""
    for details in error.errors(include_url=False):
        place = without_tags(tuple(part for part in details["loc"] if part != _OF_KEY))
        ctx = details.get("ctx", {})
        for below, text, about in ctx.get("all", ()):
            yield details["type"], _fault(place, below, text, about)
        if ctx.get("all"):
            continue
        if details["type"] == PLACED:
            yield PLACED, _fault(place, ctx["below"], ctx["text"], ctx["about"])
            continue
        text = _text(details, root)
        if details["type"] in {"union_tag_invalid", "union_tag_not_found"}:
            place += (TAGGED[str(place[-1])],)
        unknown = details["type"] == "extra_forbidden"
        yield details["type"], Fault(place, text, on_key=unknown)


def _fault(section: Place, below: Place, text: str, about: Iterable[Place]) -> Fault:
    """Return a fault of a section, whose paths begin there."""
    return Fault(section + tuple(below), text, about=tuple(section + each for each in about))


def _text(details: ErrorDetails, root: type[BaseModel]) -> str:
    kind, ctx = details["type"], details.get("ctx", {})
    if kind in _WANTED:
        return must_be(_WANTED[kind], details["input"]) + _mirror_maker(details)
    if kind in _CHOICES:
        return not_one_of(_chosen(details), _listed(ctx[_CHOICES[kind]]))
    if kind in _BOUNDS:
        how, end, bound = _BOUNDS[kind]
        return f"{details['input']} is too {how}; write at {end} {ctx[bound]}"
    if kind == "extra_forbidden":
        return _unknown_key(details, root)
    if kind == "value_error":
        return str(ctx["error"])
    return _SENTENCES[kind].format_map(ctx) if kind in _SENTENCES else details["msg"]


def must_be(wanted: str, value: object) -> str:
    """Return a sentence about a value of the wrong type.

    A text is shown only where true, false or a number is wanted: elsewhere it may be a secret.
    """
    if isinstance(value, str) and (_is_flag(wanted) or wanted == "a whole number"):
        return f"must be {wanted}, not the text {first_word(value)!r}{_meant(wanted, value)}"
    quotes = "; put it in quotes" if wanted == "a text" and isinstance(value, int | float) else ""
    return f"must be {wanted}, not {_kind_of(value)}{quotes}"


def _is_flag(wanted: str) -> bool:
    return wanted.startswith("true")


def _meant(wanted: str, value: str) -> str:
    if not _is_flag(wanted):
        return "; remove the quotes" if value.isdigit() else ""
    meant = _BOOLEANS.get(value.lower())
    return "" if meant is None else f"; write {str(meant).lower()} without quotes"


def _mirror_maker(details: ErrorDetails) -> str:
    """Return how to write `topics: "a,b"`, which is MirrorMaker 2's form."""
    told = advice("topics", details["input"], "") if details["loc"] == ("topics",) else None
    return f"; {told}" if told else ""


def _kind_of(value: object) -> str:
    """Return the type of a value, in the words of YAML; numbers, true and false as they are."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {str(value)[:_SHOWN]}"
        case str():
            return "a text"
        case dict():
            return "a mapping"
        case _:
            return "a list"


def first_word(value: str) -> str:
    """Return the first word of a value; the next words may be a secret after a missing comma."""
    first, blank, _ = value[:_SHOWN].partition(" ")
    return first + "*" * len(blank)


def not_one_of(value: object, choices: list[str]) -> str:
    """Return a sentence about a word that is not among the choices."""
    if not isinstance(value, str):
        return must_be(f"one of {', '.join(choices)}", value)
    return f"{first_word(value)!r} is not one of {', '.join(choices)}"


def _chosen(details: ErrorDetails) -> object:
    value = details["input"]
    tag = TAGGED.get(str(details["loc"][-1]))
    return value.get(tag) if isinstance(value, dict) and tag is not None else value


def _listed(listed: str) -> list[str]:
    return [word.strip("' ") for word in listed.replace(" or ", ", ").split(",")]


def _unknown_key(details: ErrorDetails, root: type[BaseModel]) -> str:
    loc = details["loc"]
    *_, key = loc
    known, elsewhere = keys_at(root, loc[:-1])
    if key in elsewhere:
        return f"is not used with {loc[-2]}"
    parents = parents_of(root, str(key))
    if parents:
        return f"unknown key here; it belongs into {' or '.join(parents)}"
    below = str(loc[0]) if loc[0] in {"source", "target"} else ""
    theirs = advice(str(key), details["input"], below)
    if theirs:
        return theirs
    near = get_close_matches(str(key), known, n=1)
    if near:
        return f"unknown key, did you mean {near[0]}?"
    return f"unknown key; known here are {', '.join(known)}"
