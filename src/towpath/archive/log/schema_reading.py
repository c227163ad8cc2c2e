"""Archived subjects, read from the store as of a version."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.archive.log.schema_parts import (
    ArchivedSubject,
    SchemaPart,
    captured_parts,
    part_of,
    unpacked,
)
from towpath.archive.log.state import ArchiveState
from towpath.model.schemas import SubjectName
from towpath.store import Store


def archived_subjects(
    store: Store, state: ArchiveState, where: str
) -> Iterator[tuple[SubjectName, ArchivedSubject]]:
    """Yield all subjects as of a version.

    Args:
        store: The store.
        state: The archive as of the version.
        where: The log, for messages.

    Raises:
        BrokenLogError: A capture or an object cannot be read.
        StoreError: An object is missing, or the store could not be read.
    """
    parts = captured_parts(state, where).values()
    for found in store.threads.map(lambda part: read_part(store, part), parts):
        yield from found.items()


def archived_subject(
    store: Store, state: ArchiveState, where: str, name: SubjectName
) -> ArchivedSubject | None:
    """Return one archived subject as of a version, `None` if absent; see `archived_subjects`."""
    part = captured_parts(state, where).get(part_of(name))
    return None if part is None else read_part(store, part).get(name)


def read_part(store: Store, part: SchemaPart) -> dict[SubjectName, ArchivedSubject]:
    """Return the subjects of a part.

    Raises:
        BrokenLogError: The object cannot be read.
        StoreError: It is missing, or the store could not be read.
    """
    return unpacked(part, store.get(part.object), f"{store.config.url}/{part.object}")
