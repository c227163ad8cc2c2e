"""Parts of an archived schema registry, as values and as objects in the store. Pure.

A registry may have tens of thousands of schemas. So the commit log holds only which objects have
them: the subjects are spread over 256 parts by a hash of their names, and each part is one object
under the SHA-256 of its bytes. A schema that is new changes one part, so one small object is
written, and objects of older versions of the archive stay as they are.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from towpath.archive.errors import BrokenLogError, NewerArchiveError
from towpath.archive.keys import schemas_key
from towpath.archive.log.entries import Capture
from towpath.archive.log.state import ArchiveState
from towpath.model.foreign import foreign
from towpath.model.schemas import (
    AVRO,
    Schema,
    SchemaId,
    SchemaReference,
    SubjectConfig,
    SubjectName,
)

SCHEMAS, REGISTRY = "schemas", "registry"
"""Kinds of captures: a part, and where the registry was."""
_FORMAT = 1
_ADVICE = "bring the object back that was here, from another region or a version of the bucket"


@dataclass(frozen=True, slots=True)
class ArchivedVersion:
    """An archived version of a subject.

    Attributes:
        id: The id of its schema.
        schema: The schema.
        deleted: Whether it was soft-deleted in the registry.
        gone: Whether the registry did not have it any more. Records that name it stay archived, so
            it stays, too.
    """

    id: SchemaId
    schema: Schema
    deleted: bool = False
    gone: bool = False

    @property
    def live(self) -> bool:
        """Whether clients of the registry could find the version under its subject."""
        return not (self.deleted or self.gone)


@dataclass(frozen=True, slots=True)
class ArchivedSubject:
    """An archived subject, or the settings of a whole context, which has no versions.

    Attributes:
        config: What was set for it.
        versions: Its versions, by number.
    """

    config: SubjectConfig = field(default_factory=SubjectConfig)
    versions: Mapping[int, ArchivedVersion] = field(default_factory=dict)


Subjects = Mapping[SubjectName, ArchivedSubject]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPart:
    """The commit log's reference to an object with archived subjects.

    Attributes:
        object: The key of its object.
        size: The size of the object in bytes.
        subjects: Number of subjects with versions; `versions`, of all of these.
    """

    object: str
    size: int
    subjects: int
    versions: int

    def capture(self, name: str) -> Capture:
        """Return the part as a capture of the commit log."""
        return Capture(kind=SCHEMAS, name=name, value=_PART.dump_python(self, mode="json"))


_PART = TypeAdapter(SchemaPart)


def part_of(subject: SubjectName) -> str:
    """Return the name of the part that holds a subject: two hex digits."""
    return hashlib.sha256(subject.encode()).hexdigest()[:2]


def captured_parts(state: ArchiveState, where: str) -> dict[str, SchemaPart]:
    """Return the parts of the archived registry as of a version, by part name.

    Args:
        state: The archive as of the version.
        where: The log, for messages.

    Raises:
        BrokenLogError: A capture is no part.
    """
    found = {}
    for (kind, name), each in state.captures.items():
        if kind == SCHEMAS:
            try:
                found[name] = _PART.validate_python(each.value)
            except ValidationError as error:
                why = f"the {kind} {name} in version {each.version} cannot be read: {error.title}"
                raise BrokenLogError(where, why) from None
    return found


def captured_registry(state: ArchiveState) -> str:
    """Return the URL of the registry that was archived last, "" if none was."""
    found = state.captures.get((REGISTRY, REGISTRY))
    return str(found.value.get("url", "")) if found is not None else ""


def registry_capture(url: str) -> Capture:
    """Return the registry's URL as a capture of the commit log."""
    return Capture(kind=REGISTRY, name=REGISTRY, value={"url": url})


def packed(region: str, part: str, subjects: Subjects) -> tuple[SchemaPart, bytes]:
    """Return a part, and the compressed bytes of its object.

    Args:
        region: The region of the archive.
        part: The name of the part.
        subjects: Its subjects.
    """
    told = {name: subject_data(subjects[name]) for name in sorted(subjects)}
    text = json.dumps({"v": _FORMAT, "part": part, "subjects": told}, separators=(",", ":"))
    data = gzip.compress(text.encode(), 6, mtime=0)
    made = SchemaPart(
        object=schemas_key(region, part, hashlib.sha256(data).hexdigest()),
        size=len(data),
        subjects=sum(bool(each.versions) for each in subjects.values()),
        versions=sum(len(each.versions) for each in subjects.values()),
    )
    return made, data


def unpacked(part: SchemaPart, data: bytes, where: str) -> dict[SubjectName, ArchivedSubject]:
    """Return the subjects of a part.

    Args:
        part: The part.
        data: The bytes of its object.
        where: The object, for messages.

    Raises:
        BrokenLogError: The object is another one than the log says, or cannot be read.
        NewerArchiveError: It was written in a newer format.
    """
    if hashlib.sha256(data).hexdigest() not in part.object:
        text = f"it has other bytes than when the schemas were archived; {_ADVICE}"
        raise BrokenLogError(where, text)
    try:
        told = json.loads(gzip.decompress(data))
        if told["v"] > _FORMAT:
            raise NewerArchiveError(where, "", told["v"], _FORMAT)
        return {SubjectName(name): subject_read(each) for name, each in told["subjects"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as error:
        text = f"it has no schemas that can be read ({foreign(error)[:300]}); {_ADVICE}"
        raise BrokenLogError(where, text) from None


def subject_data(subject: ArchivedSubject) -> dict[str, Any]:
    """Return a subject as data for JSON."""
    config = subject.config
    told = {
        "mode": config.mode,
        "compatibility": config.compatibility,
        "normalize": config.normalize,
        "more": config.more or None,
    }
    set_ = {key: value for key, value in told.items() if value is not None}
    versions = [_version_told(n, each) for n, each in sorted(subject.versions.items())]
    return {"config": set_, "versions": versions} if set_ else {"versions": versions}


def _version_told(number: int, each: ArchivedVersion) -> dict[str, Any]:
    schema = each.schema
    told = {
        "version": number,
        "id": each.id,
        "type": schema.type if schema.type != AVRO else None,
        "schema": schema.text,
        "references": [list(ref) for ref in schema.references] or None,
        "metadata": schema.metadata or None,
        "rules": schema.rules or None,
        "deleted": each.deleted or None,
        "gone": each.gone or None,
    }
    return {key: value for key, value in told.items() if value is not None}


def subject_read(told: Mapping[str, Any]) -> ArchivedSubject:
    """Decode a subject that `subject_data` encoded.

    Raises:
        ValueError, KeyError or TypeError: It is something else.
    """
    config = told.get("config", {})
    return ArchivedSubject(
        SubjectConfig(
            config.get("mode"),
            config.get("compatibility"),
            config.get("normalize"),
            config.get("more", ""),
        ),
        {int(each["version"]): _version(each) for each in told["versions"]},
    )


def _version(told: Mapping[str, Any]) -> ArchivedVersion:
    references = (
        SchemaReference(name, SubjectName(subject), int(version))
        for name, subject, version in told.get("references", ())
    )
    schema = Schema(
        told["schema"],
        told.get("type", AVRO),
        tuple(references),
        told.get("metadata", ""),
        told.get("rules", ""),
    )
    return ArchivedVersion(
        SchemaId(int(told["id"])), schema, told.get("deleted", False), told.get("gone", False)
    )
