"""Archived schemas for `towpath archive show`, as of a version."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import AsOf, open_archive
from towpath.archive.log.schema_parts import ArchivedSubject, captured_registry
from towpath.archive.log.schema_reading import archived_subject, archived_subjects
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.schemas import SubjectName
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemasLook:
    """The archived subjects as of a version.

    Attributes:
        registry: The URL of the registry.
        version: The version of the archive, written at `time`, in ms.
        subjects: The subjects by name; what is set for all of a context has no versions.
        whole: Whether one subject was asked for, with its texts.
    """

    registry: str
    version: int
    time: int
    subjects: dict[SubjectName, ArchivedSubject]
    whole: bool


def show_schemas(config: ArchiveConfig, subject: str | None, as_of: AsOf) -> SchemasLook:
    """Read one archived subject, or all of them.

    Args:
        config: The archive.
        subject: One subject; `None` for all.
        as_of: As of when.

    Raises:
        ConfigError: There is no such subject.
        CommitLogError: The commit log cannot be used, or there is no archive.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        archive = open_archive(store, config.region, as_of)
        state, where = archive.then, archive.log.where
        if subject is None:
            found = dict(archived_subjects(store, state, where))
        else:
            one = archived_subject(store, state, where, SubjectName(subject))
            if one is None:
                text = f"version {state.version} of the archive has no subject {subject}"
                raise ConfigError((ConfigProblem("SEGMENT", text),))
            found = {SubjectName(subject): one}
    return SchemasLook(
        registry=captured_registry(state),
        version=state.version,
        time=state.time,
        subjects=found,
        whole=subject is not None,
    )
