"""The JSON of a schema registry, and our values. Pure."""

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
    """Return a list that a registry answers, empty where there is none.

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
    """Return a version of a subject.

    Args:
        found: The answer of a registry.
        context: The context that was asked; names in the answer may be without it.
    """
    subject = qualified(found["subject"], context)
    at = SchemaVersion(subject.subject, int(found["version"]))
    return RegisteredSchema(at, SchemaId(int(found["id"])), schema(found, subject.context))


def schema(found: Mapping[str, Any], context: str) -> Schema:
    """Return a schema without its place; its references are seen from a context."""
    return Schema(
        str(found["schema"]),
        str(found.get("schemaType") or AVRO),
        tuple(_references(found.get("references") or (), context)),
        _metadata(found.get("metadata")),
        _json(found.get("ruleSet")),
    )


def body(schema: Schema, context: str) -> dict[str, Any]:
    """Return what registers a schema in a context."""
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
    """Return what is set for a subject, without its mode."""
    rest = dict(found)
    level = rest.pop("compatibilityLevel", None) or rest.pop("compatibility", None)
    return SubjectConfig(None, level, rest.pop("normalize", None)).having(rest)


def config_body(config: SubjectConfig) -> dict[str, Any]:
    """Return what sets everything of a config but its mode."""
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
