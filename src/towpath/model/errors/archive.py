"""Errors about an archive, and about other processes that work on it."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class ArchiveHeldError(TowpathError):
    """Another process holds the lease of the archive: its command, and where it runs."""

    code = "ARCHIVE_HELD"
    exit_code = 4

    def __init__(self, archive: str, command: str, where: str) -> None:
        super().__init__(archive, command, where)
        self.archive, self.command, self.where = archive, command, where

    def __str__(self) -> str:
        return (
            f"another process ({self.command}, {self.where}) works on archive {self.archive} now;"
            " an archive has one at a time in each region: to work here instead, stop that one"
            " first (Ctrl-C or SIGTERM), then try again"
        )
