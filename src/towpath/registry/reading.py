"""What is read of a schema registry, whether it answers itself or an archive does."""

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
    """Modes and configs; see `RegistrySettings`."""

    def config(self, subject: SubjectName) -> SubjectConfig:
        """Return what is set for a subject alone."""

    def compatibility(self, subject: SubjectName) -> SubjectConfig:
        """Return the same without its mode."""

    def mode(self, subject: SubjectName) -> str | None:
        """Return the mode of a subject, `None` if it has none."""


class ReadRegistry(Protocol):
    """A registry that is only read; see `Registry`."""

    @property
    def settings(self) -> ReadSettings:
        """What is set in it."""

    @property
    def traits(self) -> Traits:
        """What it can hold."""

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""

    @property
    def away(self) -> bool:
        """Whether it answers nobody now."""

    def stop(self) -> None:
        """Send no further request."""

    def contexts(self) -> frozenset[str] | None:
        """Return all contexts; `None` if it has none."""

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
        """Return what `kept` makes of all versions; `None` if they cannot be listed at once."""

    def latest(self, subject: SubjectName, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return the last version of a subject; `None` if it has none."""

    def versions(self, subject: SubjectName, *, deleted: bool = False) -> tuple[int, ...]:
        """Return the versions of a subject."""

    def schema(self, at: SchemaVersion, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return one version of a subject; `None` if it is not there."""

    def by_id(self, number: SchemaId, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return the schema with an id; `None` if there is none."""

    def by_guid(self, guid: str) -> Schema | None:
        """Return the schema with a GUID; `None` if there is none."""

    def ids_of_guid(self, guid: str) -> tuple[SchemaId, ...]:
        """Return the ids that a schema has in any context."""

    def users(self, number: SchemaId) -> tuple[SchemaVersion, ...]:
        """Return the versions that have an id."""

    def find(
        self, subject: SubjectName, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema | None:
        """Return the version of a subject that has a schema; `None` if none has."""
