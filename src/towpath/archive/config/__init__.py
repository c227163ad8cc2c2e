"""The file of an archive (`kind: archive`) as typed, frozen models.

`load_archive` returns an `ArchiveConfig`, or raises with every problem of the file at once.
"""

from __future__ import annotations

from pathlib import Path

from towpath.archive.config.archived_schemas import ArchivedSchemas, RestoredSchemas
from towpath.archive.config.file import ArchiveConfig, RestoredRecords
from towpath.archive.config.portions import (
    Bound,
    Placement,
    RestoredRange,
    filter_of,
    parse_bound,
    partitions_of,
)
from towpath.archive.config.restore_section import (
    FilteredOffsets,
    LostParts,
    RestoreConfig,
    RestoredRetention,
    RestoreSource,
)
from towpath.settings.kinds import FileKind
from towpath.settings.loading import load_as

__all__ = [
    "ArchiveConfig",
    "ArchivedSchemas",
    "Bound",
    "FilteredOffsets",
    "LostParts",
    "Placement",
    "RestoreConfig",
    "RestoreSource",
    "RestoredRange",
    "RestoredRecords",
    "RestoredRetention",
    "RestoredSchemas",
    "filter_of",
    "load_archive",
    "parse_bound",
    "partitions_of",
]


def load_archive(path: Path) -> ArchiveConfig:
    """Load an archive's file, with secrets, PEM files and variables filled in.

    Raises:
        ConfigError: With every problem of the file, or it describes something else.
    """
    return load_as(path, FileKind.ARCHIVE, ArchiveConfig)
