"""Schemas of a real registry in the commit log of an archive, without any cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.archive.archives import WRITER
from tests.support.kafka import wait_until
from towpath.archive.config import ArchivedSchemas
from towpath.archive.log import ArchiveState, CommitLog, Draft
from towpath.archive.log.schema_reading import archived_subjects
from towpath.archive.read.archived_registry import ArchivedRegistry
from towpath.archive.write.capturing_schemas import SchemaCaptures
from towpath.model.schemas import SchemaVersion, SubjectName
from towpath.settings import StoreConfig
from towpath.store import Store

REGION = "eu"


class SchemaArchive:
    """An archive in a folder that gets schemas alone.

    Args:
        folder: The folder.
        url: The registry.
        store: The store, by default one in the folder.
        more: Further keys of the section `schemas`.
    """

    def __init__(self, folder: Path, url: str, store: Store | None = None, **more: Any) -> None:
        where = {"url": (folder / "store").as_uri()}
        self.store = store or Store(StoreConfig.model_validate(where))
        told = {"source": {"url": url, "timeout": "2s"}, "interval": "1h", **more}
        self.wanted = ArchivedSchemas.model_validate(told)
        self.log = CommitLog.open_or_begin(self.store, REGION)

    def look(self) -> SchemaCaptures:
        """Look at the registry once, as a new run does, and commit what has changed."""
        log = self.log
        captures = SchemaCaptures(self.wanted, self.store, REGION, log.state, log.where)
        found = captures.changed()
        wait_until(lambda: captures.settled, "a look at the registry", 120)
        found += captures.changed()
        captures.close()
        if found:
            log.append(Draft(writer=WRITER, captures=tuple(found)))
        self.found = found
        return captures

    @property
    def state(self) -> ArchiveState:
        """The archive as it is now."""
        return self.log.state

    def registry(self, version: int | None = None) -> ArchivedRegistry:
        """Return the archived registry, by default that of the newest version."""
        state = self.state if version is None else self.log.as_of(version)
        return ArchivedRegistry(self.store, state, self.log.where)

    def held(self, version: int | None = None) -> dict[tuple[str, int], tuple[int, str]]:
        """Return id and text of all versions that the registry had, and soft-deleted ones."""
        found = self.registry(version).all(lambda each: each, self.contexts, deleted=True)
        assert found is not None
        return {
            (str(at.subject), at.version): (each.id, each.schema.text) for at, each in found.items()
        }

    @property
    def contexts(self) -> frozenset[str]:
        """The archived contexts."""
        found = self.registry().contexts()
        assert found is not None
        return found

    def marks(self, subject: str, version: int) -> tuple[bool, bool]:
        """Return whether a version is soft-deleted, and whether the registry lost it."""
        found = dict(archived_subjects(self.store, self.state, self.log.where))
        each = found[SubjectName(subject)].versions[version]
        return each.deleted, each.gone

    def is_live(self, subject: str, version: int) -> bool:
        """Return whether the archived registry has a version for those who ask by subject."""
        return self.registry().schema(SchemaVersion(SubjectName(subject), version)) is not None
