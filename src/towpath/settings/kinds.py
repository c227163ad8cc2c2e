"""The kinds of files by their key `kind`, and the model of each.

A new kind is one entry here. Models are named, not imported: each belongs to the product whose file
it is, and a command loads that of its own file alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType

from towpath.settings.shape import Section


class FileKind(StrEnum):
    """The kinds of files; a file without the key `kind` describes a link."""

    LINK = "link"
    ARCHIVE = "archive"
    KRAFT = "kraft"


@dataclass(frozen=True, slots=True)
class KindOfFile:
    """A kind of file, with the name of its model.

    Attributes:
        module: The module of its model.
        name: The model, a `Section`.
        what: What such a file describes, for people.
        file: What a command that takes it asks for.
        sign: The key by which a file is known that has no valid `kind`.
    """

    module: str
    name: str
    what: str
    file: str
    sign: str

    @property
    def model(self) -> type[Section]:
        """The model of the whole file, imported now."""
        model: type[Section] = getattr(import_module(self.module), self.name)
        return model


KINDS: Mapping[FileKind, KindOfFile] = MappingProxyType(
    {
        FileKind.LINK: KindOfFile(
            "towpath.settings.link", "LinkConfig", "a link", "the file of a link", "link"
        ),
        FileKind.ARCHIVE: KindOfFile(
            "towpath.archive.config.file",
            "ArchiveConfig",
            "an archive",
            "the file of an archive (`kind: archive`)",
            "store",
        ),
        FileKind.KRAFT: KindOfFile(
            "towpath.kraft.config.file",
            "KraftConfig",
            "a migration to KRaft",
            "the file of such a migration (`kind: kraft`)",
            "zookeeper",
        ),
    }
)
"""In the order in which signs are looked for."""
