"""Conversion between the JSON of a schema registry and values. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from towpath.model.schemas import (
    ALL_SUBJECTS,
    AVRO,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    qualified,
)

T = TypeVar("T")

_PLAIN = ":$&,=@"
"""Characters that a path may have as they are. Some registries do not decode them, and contexts
have colons. A plus is a blank for others, and a semicolon begins parameters."""
_OWN_PROPERTY = "confluent:version"
"""A property that registries add to metadata by themselves."""


def rows(found: Any, kind: type[T]) -> list[T]:
    """Return the list in a registry's answer, empty if there is none.

    Raises:
        TypeError: It is no list of these.
    """
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise TypeError("it is not a list")
    return found


def path_of(kind: str, subject: str) -> str:
    """Return the path of a subject below `/subjects`, `/config` or `/mode`."""
    return f"/{kind}" if subject == ALL_SUBJECTS else f"/{kind}/{quote(subject, safe=_PLAIN)}"


def registered(found: Mapping[str, Any], context: str) -> RegisteredSchema:
    """Return the version of a subject that JSON describes.

    Args:
        found: The answer of a registry.
        context: The context that was asked; names in the answer may be without it.
    """
    subject = qualified(found["subject"], context)
    at = SchemaVersion(subject.subject, int(found["version"]))
    return RegisteredSchema(at, SchemaId(int(found["id"])), schema(found, subject.context))


def schema(found: Mapping[str, Any], context: str) -> Schema:
    """Return the schema that JSON describes, with references relative to a context."""
    return Schema(
        str(found["schema"]),
        str(found.get("schemaType") or AVRO),
        tuple(_references(found.get("references") or (), context)),
        _metadata(found.get("metadata")),
        _json(found.get("ruleSet")),
    )


def body(schema: Schema, context: str) -> dict[str, Any]:
    """Return the JSON that registers a schema in a context."""
    made: dict[str, Any] = {"schema": schema.text}
    if schema.type != AVRO:
        made["schemaType"] = schema.type
    if schema.references:
        made["references"] = [
            each._replace(subject=qualified(each.subject).seen_from(context))._asdict()
            for each in schema.references
        ]
    if schema.metadata:
        made["metadata"] = json.loads(schema.metadata)
    if schema.rules:
        made["ruleSet"] = json.loads(schema.rules)
    return made


def subject_config(found: Mapping[str, Any]) -> SubjectConfig:
    """Return a subject's config without its mode, from JSON."""
    rest = dict(found)
    level = rest.pop("compatibilityLevel", None) or rest.pop("compatibility", None)
    return SubjectConfig(None, level, rest.pop("normalize", None)).having(rest)


def config_body(config: SubjectConfig) -> dict[str, Any]:
    """Return the JSON that sets a subject's config without its mode."""
    made = {"compatibility": config.compatibility, "normalize": config.normalize, **config.rest}
    return {key: value for key, value in made.items() if value is not None}


def _references(found: Iterable[Mapping[str, Any]], context: str) -> Iterator[SchemaReference]:
    for each in found:
        subject = qualified(each["subject"], context).subject
        yield SchemaReference(each["name"], subject, int(each["version"]))


def _metadata(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    rest = dict(found)
    own = dict(rest.pop("properties", None) or {})
    own.pop(_OWN_PROPERTY, None)
    return _json({**rest, **({"properties": own} if own else {})})


def _json(found: Any) -> str:
    held = {key: value for key, value in found.items() if value} if found else {}
    return json.dumps(held, sort_keys=True) if held else ""
