"""Schemas of a schema registry, as frozen values. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
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
DEFAULT_CONTEXT = "."
"""The context of subjects whose names have none."""
METADATA, TAGS, RULES, COMPATIBILITY_GROUPS = "metadata", "tags", "rules", "compatibility_groups"
"""Parts of schemas and subjects that not every registry can hold, as keys of the file."""
NORMALIZE = "normalize"
"""Another such part, which the file has no key for: whether a subject normalizes."""
AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
_AS_JSON = frozenset({AVRO, JSON})
_PART_OF_CONFIG = {
    "compatibilityGroup": COMPATIBILITY_GROUPS,
    "defaultMetadata": METADATA,
    "overrideMetadata": METADATA,
    "defaultRuleSet": RULES,
    "overrideRuleSet": RULES,
}
ALIAS = "alias"
"""The config of a subject whose name stands for another subject."""
_QUALIFIED = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(\w+|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\w\s])""", re.DOTALL
)
"""A word, a text or a sign of Protobuf, or a comment without a group."""


class QualifiedName(NamedTuple):
    """The name of a subject, split into context and name.

    A context has its own subjects, ids, modes and configs.

    Attributes:
        context: The context, such as `.eu`; `.` is the default one.
        name: The name in it; "" for all subjects of the context.
    """

    context: str
    name: str

    @property
    def subject(self) -> SubjectName:
        """The full name as registries take it: `:.eu:orders`, or `orders` without a context."""
        if self.context == DEFAULT_CONTEXT and self.name and not self.name.startswith(":."):
            return SubjectName(self.name)
        return SubjectName(f":{self.context}:{self.name}")

    def seen_from(self, context: str) -> SubjectName:
        """Return the name by which a schema in a context refers to this subject."""
        if self.context == context:
            return SubjectName(self.name)
        return SubjectName(f":{self.context}:{self.name}")


ALL_SUBJECTS = QualifiedName(DEFAULT_CONTEXT, "").subject
"""Stands for all subjects of a registry, where one is asked for its mode or configs."""


def qualified(subject: str, context: str = DEFAULT_CONTEXT) -> QualifiedName:
    """Split the name of a subject into context and name.

    Args:
        subject: The name as a registry has it.
        context: The context of a name that has none.
    """
    found = _QUALIFIED.fullmatch(subject)
    return QualifiedName(found[1], found[2]) if found else QualifiedName(context, subject)


class SchemaVersion(NamedTuple):
    """One version of a subject."""

    subject: SubjectName
    version: int

    def __str__(self) -> str:
        return f"{self.subject} version {self.version}"


class SchemaReference(NamedTuple):
    """A reference of a schema to another one.

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
        """The version that the reference points to."""
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
        """A digest of type and text, the same for texts that differ only in formatting.

        Registries may write a text in another way: JSON with other blanks or another order of keys,
        Protobuf with other blanks and without comments.
        """
        return _digest([self.type, _plain(self.type, self.text)])

    @property
    def extras(self) -> frozenset[str]:
        """The parts among `metadata`, `tags` and `rules` that the schema has."""
        held = json.loads(self.metadata or "{}")
        found = {METADATA: held.keys() - {TAGS}, TAGS: held.get(TAGS), RULES: self.rules}
        return frozenset(name for name, has in found.items() if has)

    @property
    def extras_digest(self) -> str:
        """A digest of metadata and rules, "" if there are none."""
        return _digest([self.metadata, self.rules]) if self.metadata or self.rules else ""

    def without(self, extras: Collection[str]) -> Schema:
        """Return the schema without some of its `metadata`, `tags` and `rules`."""
        held = json.loads(self.metadata or "{}")
        rest = {
            key: value
            for key, value in held.items()
            if (TAGS if key == TAGS else METADATA) not in extras
        }
        metadata = self.metadata if rest == held else json.dumps(rest, sort_keys=True)
        return replace(
            self,
            metadata=metadata if rest else "",
            rules="" if RULES in extras else self.rules,
        )

    def referring(self, references: tuple[SchemaReference, ...]) -> Schema:
        """Return the schema with other references."""
        return self if references == self.references else replace(self, references=references)


@dataclass(frozen=True, slots=True)
class SubjectConfig:
    """The settings of one subject alone; `None` where the global settings apply.

    Attributes:
        mode: What may be done with it: `READWRITE`, `READONLY`, `IMPORT` and others.
        compatibility: How new versions must agree with older ones, such as `BACKWARD`.
        normalize: Whether new schemas are normalized.
        more: All other configs as JSON, by the names that registries have for them, "" for none:
            compatibility group, alias, default and overriding metadata and rules.
    """

    mode: str | None = None
    compatibility: str | None = None
    normalize: bool | None = None
    more: str = ""

    @property
    def rest(self) -> dict[str, Any]:
        """The settings in `more`, parsed."""
        found: dict[str, Any] = json.loads(self.more or "{}")
        return found

    @property
    def extras(self) -> frozenset[str]:
        """The parts among `metadata`, `rules` and `compatibility_groups` that are set."""
        return frozenset(_PART_OF_CONFIG[key] for key in self.rest if key in _PART_OF_CONFIG)

    def without(self, extras: Collection[str]) -> SubjectConfig:
        """Return the settings without some of their parts."""
        rest = {
            key: value for key, value in self.rest.items() if _PART_OF_CONFIG.get(key) not in extras
        }
        return self.having(rest)

    def having(self, rest: Mapping[str, Any]) -> SubjectConfig:
        """Return the settings with other values in `more`."""
        held = {key: value for key, value in rest.items() if value not in (None, "", {}, [])}
        return replace(self, more=json.dumps(held, sort_keys=True) if held else "")

    def over(self, now: SubjectConfig) -> SubjectConfig:
        """Return these settings, completed by another subject's where they have none."""
        merged = SubjectConfig(
            self.mode or now.mode,
            self.compatibility or now.compatibility,
            now.normalize if self.normalize is None else self.normalize,
        )
        return merged.having({**now.rest, **self.rest})


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
