"""Schemas of a schema registry, as frozen values. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NewType

SchemaId = NewType("SchemaId", int)
"""The number that a registry gave to a schema; records name their schema by it."""
SubjectName = NewType("SubjectName", str)
"""A name under which a registry keeps the versions of a schema."""

IMPORT, READWRITE, READONLY = "IMPORT", "READWRITE", "READONLY"
"""Modes of a registry or subject."""
NONE = "NONE"
"""The compatibility with which any schema may follow any other."""
AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
_AS_JSON = frozenset({AVRO, JSON})
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(\w+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\w\s])""", re.DOTALL
)
"""A word, a text or a sign of Protobuf, or a comment without a group."""


class SchemaVersion(NamedTuple):
    """One version of a subject."""

    subject: SubjectName
    version: int

    def __str__(self) -> str:
        return f"{self.subject} version {self.version}"


class SchemaReference(NamedTuple):
    """What a schema takes from another one.

    Attributes:
        name: The name by which its text refers to the other schema.
        subject: The subject of the other schema.
        version: Its version.
    """

    name: str
    subject: SubjectName
    version: int

    @property
    def to(self) -> SchemaVersion:
        """The version that is referred to."""
        return SchemaVersion(self.subject, self.version)


@dataclass(frozen=True)
class Schema:
    """A schema without its place in a registry.

    Attributes:
        text: The schema itself.
        type: `AVRO`, `JSON` or `PROTOBUF`, or what else the registry calls it.
        references: The schemas that it refers to.
        metadata: Its metadata as JSON, "" for none.
        rules: Its rule set as JSON, "" for none.
    """

    text: str
    type: str = AVRO
    references: tuple[SchemaReference, ...] = ()
    metadata: str = ""
    rules: str = ""

    @cached_property
    def body(self) -> str:
        """A digest of type and text, the same for texts that mean the same.

        Registries may write a text in another way: JSON with other blanks or another order of keys,
        Protobuf with other blanks and without comments.
        """
        return _digest([self.type, _plain(self.type, self.text)])

    @property
    def extras(self) -> frozenset[str]:
        """Which of `metadata` and `rules` it has."""
        found = {"metadata": self.metadata, "rules": self.rules}
        return frozenset(name for name, text in found.items() if text)

    def without(self, extras: Iterable[str]) -> Schema:
        """Return this schema without its `metadata`, its `rules`, or both."""
        gone = set(extras)
        metadata = "" if "metadata" in gone else self.metadata
        return replace(self, metadata=metadata, rules="" if "rules" in gone else self.rules)

    def referring(self, references: tuple[SchemaReference, ...]) -> Schema:
        """Return this schema with other references."""
        return self if references == self.references else replace(self, references=references)


@dataclass(frozen=True, slots=True)
class SubjectConfig:
    """What is set for one subject alone; `None` where what is set for all subjects holds.

    Attributes:
        mode: What may be done with it: `READWRITE`, `READONLY`, `IMPORT` and others.
        compatibility: How new versions must agree with older ones, such as `BACKWARD`.
        normalize: Whether new schemas are normalized.
    """

    mode: str | None = None
    compatibility: str | None = None
    normalize: bool | None = None


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as one version of a subject."""

    at: SchemaVersion
    id: SchemaId
    schema: Schema


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _plain(type_: str, text: str) -> str:
    if type_ not in _AS_JSON:
        return " ".join(filter(None, _TOKEN.findall(text)))
    try:
        return json.dumps(_primitive(json.loads(text)), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()


def _primitive(value: Any) -> Any:
    """Return the short form of a bare Avro type: `"int"` for `{"type": "int"}`."""
    if isinstance(value, dict) and value.keys() == {"type"} and isinstance(value["type"], str):
        return value["type"]
    return value
