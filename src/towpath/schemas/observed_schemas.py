"""Both registries as observed: values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from towpath.model.errors import ClusterError
from towpath.model.schemas import (
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.kinds import USUAL, Traits


class SeenVersion(NamedTuple):
    """A version of a subject, without the text of its schema.

    Attributes:
        id: The id of its schema.
        body: The digest of its type and text.
        references: What it refers to.
    """

    id: SchemaId
    body: str
    references: tuple[SchemaReference, ...] = ()


class HeldVersion(NamedTuple):
    """The version under which a registry holds a schema, and the schema's id."""

    at: SchemaVersion
    id: SchemaId


Versions = Mapping[SubjectName, Mapping[int, SeenVersion]]
"""The versions of subjects, by number."""


Apart = Mapping[SchemaVersion, str]
"""Digests of metadata and rules, by version."""


@dataclass(frozen=True, slots=True)
class ObservedSchemas:
    """Both registries as observed.

    Attributes:
        source: All versions at the source, deleted ones only where the file asks for them.
        gone: Those of the source that are soft-deleted.
        extras: The metadata and rules of versions that the target lacks, as far as the file does
            not keep them.
        same: Versions that are equal because the target says so, with their places there.
        apart: The digests of metadata and rules of those versions, on both sides, that differ from
            others of their subject in nothing else; only where the target gives the ids.
        target: All versions on the target, deleted ones only where a wanted one is lacking.
        deleted: Those of the target that are soft-deleted.
        wanted: The subjects that the file asks for, and those that they refer to, with their names
            on the target.
        source_configs: What the source has set for wanted subjects.
        target_configs: What the target has set for some subjects, by their names there.
        failed: Subjects of the source that could not be read on one of the sides, and why.
        lost: Versions of the source that others refer to and that could not be read, and why.
        unread: Subjects of the source whose configs could not be read, and why.
        unread_there: The same of the target, by their names there.
        misnamed: Subjects of the source without a name on the target, and why.
        copies: Subjects of the source that are copies, where source and target are one registry.
        unmapped: Contexts of the source of which the file does not say what becomes of them.
        alls: The names for all subjects of a context whose configs the file asks for, with the
            names for them on the target.
        traits: What the target can hold.
        has_contexts: Whether the target has contexts; true where nobody needs them.
        at: When both were looked at, on the monotonic clock.
        trouble: Why the registries could not be looked at, `None` if they could.
    """

    source: Versions = field(default_factory=dict)
    target: Versions = field(default_factory=dict)
    deleted: frozenset[SchemaVersion] = frozenset()
    gone: frozenset[SchemaVersion] = frozenset()
    extras: Mapping[SchemaVersion, frozenset[str]] = field(default_factory=dict)
    same: Mapping[SchemaVersion, HeldVersion] = field(default_factory=dict)
    apart: tuple[Apart, Apart] = ({}, {})
    wanted: Mapping[SubjectName, SubjectName] = field(default_factory=dict)
    source_configs: Mapping[SubjectName, SubjectConfig] = field(default_factory=dict)
    target_configs: Mapping[SubjectName, SubjectConfig] = field(default_factory=dict)
    failed: Mapping[SubjectName, ClusterError] = field(default_factory=dict)
    lost: Mapping[SchemaVersion, ClusterError] = field(default_factory=dict)
    unread: Mapping[SubjectName, ClusterError] = field(default_factory=dict)
    unread_there: Mapping[SubjectName, ClusterError] = field(default_factory=dict)
    misnamed: Mapping[SubjectName, str] = field(default_factory=dict)
    copies: frozenset[SubjectName] = frozenset()
    unmapped: frozenset[str] = frozenset()
    alls: Mapping[SubjectName, SubjectName] = field(default_factory=dict)
    traits: Traits = USUAL
    has_contexts: bool = True
    at: float = 0.0
    trouble: ClusterError | None = None
