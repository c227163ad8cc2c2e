"""What a file may describe, by its key `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from towpath.config.archive import ArchiveConfig
from towpath.config.kraft import KraftConfig
from towpath.config.link import LinkConfig


class FileKind(StrEnum):
    """What a file describes; without the key `kind` it is a link."""

    LINK = "link"
    ARCHIVE = "archive"
    KRAFT = "kraft"


FileModel = type[LinkConfig | ArchiveConfig | KraftConfig]
MODELS: Mapping[FileKind, FileModel] = {
    FileKind.LINK: LinkConfig,
    FileKind.ARCHIVE: ArchiveConfig,
    FileKind.KRAFT: KraftConfig,
}
