"""Protocol of read access to a schema registry, live or in an archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.kinds import Traits
from towpath.registry.listing import ONE

T = TypeVar("T")


class ReadSettings(Protocol):
    """Protocol of read access to a registry's modes and configs."""

    def config(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings."""

    def compatibility(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings without its mode."""

    def mode(self, subject: SubjectName) -> str | None:
        """Return the mode of a subject, `None` if it has none."""


class ReadRegistry(Protocol):
    """Protocol of a registry that is only read."""

    @property
    def settings(self) -> ReadSettings:
        """Modes and configs of the registry."""

    @property
    def traits(self) -> Traits:
        """The features of the registry."""

    @property
    def requests(self) -> int:
        """Number of requests sent so far."""

    @property
    def away(self) -> bool:
        """Whether the registry does not answer at present."""

    def stop(self) -> None:
        """Stop sending requests."""

    def contexts(self) -> frozenset[str] | None:
        """Return all contexts; `None` if the registry has no contexts."""

    def subjects(
        self, contexts: Iterable[str] = ONE, *, deleted: bool = False
    ) -> frozenset[SubjectName]:
        """Return the names of all subjects."""

    def all(
        self,
        kept: Callable[[RegisteredSchema], T],
        contexts: Iterable[str] = ONE,
        *,
        deleted: bool = False,
    ) -> dict[SchemaVersion, T] | None:
        """Return all versions, converted by `kept`; `None` if they cannot be listed at once."""

    def latest(self, subject: SubjectName, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return the last version of a subject; `None` if it has none."""

    def versions(self, subject: SubjectName, *, deleted: bool = False) -> tuple[int, ...]:
        """Return the versions of a subject."""

    def schema(self, at: SchemaVersion, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return one version of a subject; `None` if it does not exist."""

    def by_id(self, number: SchemaId, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return the schema with an id; `None` if there is none."""

    def by_guid(self, guid: str) -> Schema | None:
        """Return the schema with a GUID; `None` if there is none."""

    def ids_of_guid(self, guid: str) -> tuple[SchemaId, ...]:
        """Return the ids that a schema has, in any context."""

    def users(self, number: SchemaId) -> tuple[SchemaVersion, ...]:
        """Return the versions that use a schema id."""

    def find(
        self, subject: SubjectName, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema | None:
        """Return the version of a subject that has a schema; `None` if none has."""
