"""The base of all sections of a file, and the keys that each may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import FunctionType
from typing import Annotated, Any, NamedTuple, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from towpath.settings.kafka_names import NAMES

Place = tuple[str | int, ...]
"""The keys and list indexes that lead to a value of the file."""

TAGGED = {"sasl": "mechanism", "driver": "via"}
"""Sections of several forms, each with the key that says which form it has."""

PLACED = "towpath_placed"
"""Type of an error that knows where below a section it belongs."""
VALUES_ALONE = "values_alone"
"""In the context of a validation: values are not compared with each other."""

_KEY = re.compile(r"mm2|[A-Za-z_]{0,60}")
_MARK = "_tells_contradictions"


class Placed(NamedTuple):
    """A problem of a section.

    Attributes:
        below: Its path below the section.
        text: What is wrong.
        about: The paths of other values that it depends on, likewise.
    """

    below: Place
    text: str
    about: tuple[Place, ...] = ()


Check = Callable[[Any], Iterable[Placed]]
C = TypeVar("C", bound=Check)


def contradictions(check: C) -> C:
    """Mark a method of a section that yields contradictions between its values.

    It is also asked where some values are wrong, and these are no attributes then: what it yields
    before it reads one of them counts. Where it looks at several values by themselves,
    `getattr(self, name, None)` passes over those that are wrong.
    """
    setattr(check, _MARK, True)
    return check


@cache
def checks_of(model: type[BaseModel]) -> tuple[Check, ...]:
    """Return the methods of a model that yield contradictions."""
    own = (tuple(vars(each).items()) for each in reversed(model.__mro__))
    methods = (item for each in own for item in each if isinstance(item[1], FunctionType))
    names = dict.fromkeys(name for name, method in methods if hasattr(method, _MARK))
    return tuple(getattr(model, name) for name in names)


def require_none(problems: Iterable[Placed]) -> None:
    """Raise one error for all problems of a section, if there are any.

    Raises:
        PydanticCustomError: There are some.
    """
    found = [(tuple(each.below), each.text, each.about) for each in problems]
    if found:
        raise PydanticCustomError(PLACED, "{text}", {"text": found[0][1], "all": found})


class Section(BaseModel):
    """A frozen mapping that refuses unknown keys and never shows its input."""

    # Most commands read one kind of file: its validators alone are built, when it is read.
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    @model_validator(mode="after")
    def _without_contradictions(self, info: ValidationInfo) -> Self:
        if not (info.context or {}).get(VALUES_ALONE):
            require_none(told for check in checks_of(type(self)) for told in check(self))
        return self

    def notes(self) -> Iterable[str]:
        """Return notes about a whole file without problems; none by default."""
        return ()


def path_text(place: Place) -> str:
    """Return a place in the file as people write it: `topics.include[0]`.

    A key is shown as far as it could be one of ours, and `*` for the rest, unless Kafka has that
    key: where a colon or a blank is missing, as in `password hunter2`, the rest may be a secret.
    """
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            start = key_start(part)
            key = start if start == part else part if part in NAMES else f"{start}*"
            text += f".{key}" if text else key
    return text


def key_start(key: str) -> str:
    """Return the part of a key that could be a Towpath key or a SASL extension."""
    match = _KEY.match(key)
    return match[0] if match else ""


def sections(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the models that a field of this type may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    if get_origin(annotation) is Annotated:
        return sections(get_args(annotation)[0])
    return tuple(model for part in get_args(annotation) for model in sections(part))


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by their keys in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def tags(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the values that select this form of a section, none for other models."""
    found = (model.model_fields.get(key) for key in TAGGED.values())
    return tuple(str(tag) for field in found if field for tag in get_args(field.annotation))


def without_tags(loc: Place) -> Place:
    """Return a place without the tag that pydantic adds for a section with several forms."""
    return tuple(
        part
        for above, part in zip((None, *loc), loc, strict=False)
        if above not in TAGGED or isinstance(part, int)  # a list of such sections
    )


def keys_at(root: type[BaseModel], loc: Place) -> tuple[list[str], list[str]]:
    """Return the known keys at a place, and the keys of other forms of the section."""
    models: tuple[type[BaseModel], ...] = (root,)
    others: list[str] = []
    for part in loc:
        if isinstance(part, int):  # of a list, whose entries are those of its field
            continue
        chosen = tuple(model for model in models if part in tags(model))
        if chosen:
            others = [name for model in models for name in fields(model)]
            models = chosen
        else:
            held = [fields(model)[str(part)] for model in models if part in fields(model)]
            models = tuple(found for field in held for found in sections(field.annotation))
    known = list(dict.fromkeys(name for model in models for name in fields(model)))
    return known, [name for name in others if name not in known]


def parents_of(root: type[BaseModel], key: str) -> list[str]:
    """Return the sections that know a key."""
    found = (".".join(place[:-1]) for place, _ in walk(root) if place[-1] == key)
    return list(dict.fromkeys(parent for parent in found if parent))


def walk(
    root: type[BaseModel], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield every key with its field; a key of several forms comes several times."""
    for name, field in fields(root).items():
        yield (*above, name), field
        for model in sections(field.annotation):
            yield from walk(model, (*above, name))
