"""Fields owned by other field managers that a write would change. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from towpath.kraft.reach.kubernetes.objects import KubernetesObject


@dataclass(frozen=True, slots=True, order=True)
class KeptField:
    """A field and its owning field manager; `field` is in `kubectl`'s notation."""

    manager: str
    field: str


def kept_by_others(
    made: KubernetesObject, there: KubernetesObject | None, manager: str
) -> tuple[KeptField, ...]:
    """Return the fields that a write would take over from other field managers.

    That is what the API calls a conflict, where something is applied: another manager has written
    a field, and its value is another one.

    Args:
        made: What is to be written.
        there: The object as it is, with its `managedFields`; None where there is none.
        manager: Who writes.
    """
    entries = ((there or {}).get("metadata") or {}).get("managedFields") or ()
    others = (each for each in entries if each.get("manager") != manager)
    found = (
        KeptField(str(each.get("manager")), field)
        for each in others
        for field in _different(made, there, each.get("fieldsV1") or {}, "")
    )
    return tuple(sorted(set(found)))


def not_named(kept: Iterable[KeptField], take_from: Collection[str]) -> tuple[KeptField, ...]:
    """Return the fields of other managers that the file does not allow Towpath to override.

    Args:
        kept: Fields that others keep.
        take_from: The managers that the file names.
    """
    return tuple(each for each in kept if each.manager not in take_from)


def fields_by_manager(kept: Iterable[KeptField]) -> str:
    """Return owned fields for people, by manager."""
    fields: dict[str, list[str]] = {}
    for each in kept:
        fields.setdefault(each.manager, []).append(each.field)
    return "; ".join(f"{manager}: {', '.join(named)}" for manager, named in fields.items())


def kept_advice(kept: Collection[KeptField]) -> str:
    """Return a sentence about the field managers that block a step's write."""
    named = ", ".join(sorted({each.manager for each in kept}))
    return (
        f"another field manager keeps what would be written ({fields_by_manager(kept)}):"
        f" let nothing apply it again until the migration is over, then name"
        f" {named} in `driver.take_from`"
    )


def _different(made: Any, there: Any, fields: Mapping[str, Any], at: str) -> Iterator[str]:
    if not _has_parts(made):
        if made != there:
            yield at
        return
    for key, each in fields.items():
        own = _child(made, key)
        if own is not None:
            shown = f"[{key[2:]}]" if key.startswith("k:") else f".{key[2:]}"
            yield from _different(own, _child(there, key), each, at + shown)


def _has_parts(value: Any) -> bool:
    """Whether the parts of a value have managers of their own: a map, or a list of maps.

    Who keeps nothing below it keeps that it is there, and no write changes that.
    """
    if isinstance(value, list):
        return all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping)


def _child(value: Any, key: str) -> Any:
    """Return what a key of `fieldsV1` names in a value; None where it has none such.

    The key "." names the map or the element itself, whose being there no write changes.
    """
    kind, _, name = key.partition(":")
    match kind, value:
        case "f", Mapping():
            return value.get(name)
        case "k", list():
            named = json.loads(name)
            return next((each for each in value if _has(each, named)), None)
        case _:
            return None


def _has(element: Mapping[str, Any], named: Mapping[str, Any]) -> bool:
    """Whether an element of a list is the named one; the API fills in keys that are left out."""
    return all(element.get(key, value) == value for key, value in named.items())
