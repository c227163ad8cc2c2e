"""Contradictions between values of a file, told whatever else is wrong in it. Pure.

Pydantic compares the values of a section only where each is right by itself. So a section is made
here of the values that are right; a check that reads another one tells nothing from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError, create_model

from towpath.settings.shape import (
    TAGGED,
    VALUES_ALONE,
    Place,
    Placed,
    checks_of,
    fields,
    sections,
    tags,
)
from towpath.settings.spots import Fault

_WRONG = object()


def contradictions_in(
    model: type[BaseModel],
    tree: Mapping[str, Any],
    wrong: Iterable[Place],
    context: Mapping[str, Any],
) -> Iterator[Fault]:
    """Yield the contradictions between the values of a file that are right by themselves.

    Args:
        model: The model of the file.
        tree: Its content.
        wrong: The places of values that are wrong, missing, or not known.
        context: The context of the validation.
    """
    made = _Parts({**context, VALUES_ALONE: True}).section((model,), tree, tuple(wrong))
    if isinstance(made, BaseModel):
        yield from _told(made, ())


def _told(section: BaseModel, at: Place) -> Iterator[Fault]:
    for placed in (each for check in checks_of(type(section)) for each in _decided(check(section))):
        yield Fault((*at, *placed.below), placed.text)
    for key, field in section.__pydantic_fields__.items():
        value = vars(section).get(key)
        place = (*at, field.alias or key)
        for index, each in enumerate(value) if isinstance(value, tuple) else ((None, value),):
            if isinstance(each, BaseModel):
                yield from _told(each, place if index is None else (*place, index))


def _decided(told: Iterable[Placed]) -> Iterator[Placed]:
    """Yield what is told until a value is read that is wrong."""
    try:
        yield from told
    except AttributeError as error:
        section = error.obj
        is_gap = isinstance(section, BaseModel) and error.name in type(section).model_fields
        if not (is_gap or section is _NOTHING):
            raise


class _Parts:
    """Sections of the values that are right.

    Args:
        context: The context of the validation.
    """

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = dict(context)

    def section(
        self, models: Sequence[type[BaseModel]], tree: object, wrong: tuple[Place, ...]
    ) -> object:
        """Return a section without its wrong values, or that it is wrong as a whole.

        Args:
            models: Its forms.
            tree: Its content.
            wrong: The wrong places below it.
        """
        model = _form(models, tree)
        if model is None or not isinstance(tree, Mapping) or () in wrong:
            return _WRONG
        gaps = {
            name: self._value(sections(field.annotation), tree.get(key), below)
            for name, field in model.model_fields.items()
            if (below := _below(wrong, key := field.alias or name))
        }
        return self._made(model, tree, gaps)

    def _value(
        self, models: Sequence[type[BaseModel]], tree: object, wrong: tuple[Place, ...]
    ) -> object:
        """Return a value in which something is wrong, as far as it consists of sections."""
        if not (models and isinstance(tree, list)) or () in wrong:
            return self.section(models, tree, wrong)
        made = (self.section(models, each, _below(wrong, i)) for i, each in enumerate(tree))
        return tuple(_NOTHING if each is _WRONG else each for each in made)

    def _made(
        self, model: type[BaseModel], tree: Mapping[str, Any], gaps: dict[str, object]
    ) -> object:
        """Return a section of which some values were made before, or are wrong."""
        keys = fields(model)
        rest = {k: v for k, v in tree.items() if k in keys and _name(model, k) not in gaps}
        left: Any = dict.fromkeys(gaps, (Any, None))
        loose = create_model(model.__name__, __base__=model, **left) if gaps else model
        try:
            made = loose.model_validate(rest, context=self._context)
        except ValidationError:
            return _WRONG
        for name, value in gaps.items():
            if value is _WRONG:
                del vars(made)[name]
            else:
                vars(made)[name] = value
        made.__pydantic_fields_set__.update(_name(model, key) for key in tree if key in keys)
        return made


class _Nothing(BaseModel):
    """An entry of a list of which nothing is right."""


_NOTHING = _Nothing()


def _name(model: type[BaseModel], key: str) -> str:
    """Return the name of the field that a key of the file means."""
    return next(name for name, field in model.model_fields.items() if key in (field.alias, name))


def _below(wrong: Iterable[Place], key: str | int) -> tuple[Place, ...]:
    return tuple(place[1:] for place in wrong if place[:1] == (key,))


def _form(models: Sequence[type[BaseModel]], tree: object) -> type[BaseModel] | None:
    """Return the form of a section that its content names, `None` if it names none."""
    if len(models) == 1 or not isinstance(tree, Mapping):
        return models[0] if models else None
    chosen = {str(tree.get(key)) for key in TAGGED.values()}
    return next((model for model in models if chosen & set(tags(model))), None)
