"""An archived schema registry that answers like the original registry."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from towpath.archive.log.schema_parts import ArchivedSubject, subject_data, subject_read
from towpath.archive.log.schema_reading import archived_subjects
from towpath.archive.log.state import ArchiveState
from towpath.model.schemas import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SchemaId,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.registry.kinds import USUAL, Traits
from towpath.registry.listing import ONE
from towpath.store import Store

T = TypeVar("T")
_NOTHING = ArchivedSubject()
_KEPT = 256
"""Subjects that are kept as values; all are kept as compressed bytes."""


class ArchivedSettings:
    """Archived modes and configs of subjects; implements `ReadSettings`.

    Args:
        of: Returns a subject.
    """

    def __init__(self, of: Callable[[SubjectName], ArchivedSubject]) -> None:
        self._of = of

    def config(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings."""
        return self._of(subject).config

    def compatibility(self, subject: SubjectName) -> SubjectConfig:
        """Return a subject's own settings without its mode."""
        held = self.config(subject)
        return SubjectConfig(None, held.compatibility, held.normalize, held.more)

    def mode(self, subject: SubjectName) -> str | None:
        """Return the mode of a subject, `None` if it has none."""
        return self.config(subject).mode


class ArchivedRegistry:
    """The archived registry as of a version, in memory; implements `ReadRegistry`.

    Versions that the registry had no more are soft-deleted ones here, as records may name them.

    Args:
        store: The store.
        state: The archive as of the version.
        where: Its log, for messages.

    Raises:
        BrokenLogError: A capture or an object cannot be read.
        StoreError: An object is missing, or the store could not be read.
    """

    def __init__(self, store: Store, state: ArchiveState, where: str) -> None:
        self._packed: dict[SubjectName, bytes] = {}
        self._ids: dict[tuple[str, SchemaId], list[SchemaVersion]] = {}
        for name, subject in archived_subjects(store, state, where):
            self._packed[name] = zlib.compress(json.dumps(subject_data(subject)).encode(), 1)
            for number, each in subject.versions.items():
                key = qualified(name).context, each.id
                self._ids.setdefault(key, []).append(SchemaVersion(name, number))
        self._of = lru_cache(_KEPT)(self._unpacked)
        self.settings = ArchivedSettings(self._of)
        self.requests, self.away = 0, False

    def _unpacked(self, name: SubjectName) -> ArchivedSubject:
        data = self._packed.get(name)
        if data is None:
            return _NOTHING
        return subject_read(json.loads(zlib.decompress(data)))

    @property
    def ids(self) -> frozenset[int]:
        """The ids of all archived schemas, in every context."""
        return frozenset(number for _, number in self._ids)

    @property
    def traits(self) -> Traits:
        """The features of the registry."""
        return USUAL

    def stop(self) -> None:
        """Stop sending requests."""

    def contexts(self) -> frozenset[str] | None:
        """Return all contexts; `None` if it has none."""
        return ONE.union(qualified(name).context for name in self._packed)

    def subjects(
        self, contexts: Iterable[str] = ONE, *, deleted: bool = False
    ) -> frozenset[SubjectName]:
        """Return the names of all subjects."""
        wanted = frozenset(contexts)
        return frozenset(
            name
            for name in self._packed
            if qualified(name).context in wanted and self.versions(name, deleted=deleted)
        )

    def all(
        self,
        kept: Callable[[RegisteredSchema], T],
        contexts: Iterable[str] = ONE,
        *,
        deleted: bool = False,
    ) -> dict[SchemaVersion, T] | None:
        """Return all versions, converted by `kept`; `None` if they cannot be listed at once."""
        wanted = frozenset(contexts)
        names = (name for name in self._packed if qualified(name).context in wanted)
        return {
            each.at: kept(each) for name in names for each in self._versions(name, deleted=deleted)
        }

    def _versions(self, name: SubjectName, *, deleted: bool) -> Iterator[RegisteredSchema]:
        for number, each in sorted(self._of(name).versions.items()):
            if deleted or each.live:
                yield RegisteredSchema(SchemaVersion(name, number), each.id, each.schema)

    def latest(self, subject: SubjectName, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return the last version of a subject; `None` if it has none."""
        return max(
            self._versions(subject, deleted=deleted),
            key=lambda each: each.at.version,
            default=None,
        )

    def versions(self, subject: SubjectName, *, deleted: bool = False) -> tuple[int, ...]:
        """Return the versions of a subject."""
        return tuple(each.at.version for each in self._versions(subject, deleted=deleted))

    def schema(self, at: SchemaVersion, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return one version of a subject; `None` if it does not exist."""
        found = self._of(at.subject).versions.get(at.version)
        if found is None or not (deleted or found.live):
            return None
        return RegisteredSchema(at, found.id, found.schema)

    def by_id(self, number: SchemaId, context: str = DEFAULT_CONTEXT) -> Schema | None:
        """Return the schema with an id; `None` if there is none."""
        places = self._ids.get((context, number))
        return self._of(places[0].subject).versions[places[0].version].schema if places else None

    def by_guid(self, guid: str) -> Schema | None:
        """Return `None`: GUIDs are not archived."""
        del guid
        return None

    def ids_of_guid(self, guid: str) -> tuple[SchemaId, ...]:
        """Return an empty tuple: GUIDs are not archived."""
        del guid
        return ()

    def users(self, number: SchemaId) -> tuple[SchemaVersion, ...]:
        """Return the versions that use a schema id."""
        places = (each for (_, own), each in self._ids.items() if own == number)
        return tuple(at for each in places for at in each)

    def find(
        self, subject: SubjectName, schema: Schema, *, normalize: bool = False
    ) -> RegisteredSchema | None:
        """Return the version of a subject with the same schema text and references."""
        del normalize
        with suppress(StopIteration):
            return next(
                each
                for each in self._versions(subject, deleted=False)
                if (each.schema.body, each.schema.references) == (schema.body, schema.references)
            )
        return None
