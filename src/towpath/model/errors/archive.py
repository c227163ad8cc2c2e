"""Errors about an archive, its catalog, queries, and other processes that work on it."""

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


class CatalogError(TowpathError):
    """A catalog of Iceberg tables could not be used, or has another table of that name."""

    code = "CATALOG"
    exit_code = 4

    def __init__(self, said: str, advice: str = "") -> None:
        super().__init__(said, advice)
        self.said, self.advice = said, advice

    def __str__(self) -> str:
        return f"{self.said}; {self.advice}" if self.advice else self.said


class QueryError(TowpathError):
    """Spark does not accept a query of an archive, or fails at it; the text is Spark's."""

    code = "QUERY"
    exit_code = 2

    def __init__(self, said: str, advice: str = "") -> None:
        super().__init__(said, advice)
        self.said, self.advice = said, advice

    def __str__(self) -> str:
        told = f"the query cannot be answered: {self.said}"
        return f"{told.rstrip('.')}; {self.advice}" if self.advice else told
