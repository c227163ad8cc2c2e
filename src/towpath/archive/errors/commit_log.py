"""Errors about the commit log of an archive."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class CommitLogError(TowpathError):
    """The commit log of an archive cannot be used.

    Args:
        where: The log, as a URL.
        why: What is wrong, and what to do.
    """

    code = "ARCHIVE_LOG"
    exit_code = 4

    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where, self.why = where, why

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


class NoArchiveError(CommitLogError):
    """No archive exists at this location: the commit log has no entry."""

    code = "ARCHIVE_ABSENT"

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "there is no archive here; look at `store.url` and `region` (the first run of an"
            " archive makes it)",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where,)


class NoVersionError(CommitLogError):
    """The archive does not have the requested version, or had none at the requested time."""

    code = "ARCHIVE_VERSION"
    exit_code = 2


class BrokenLogError(CommitLogError):
    """A log entry is missing, was changed, or contradicts the entries before it."""

    code = "ARCHIVE_BROKEN"


class NewerArchiveError(CommitLogError):
    """The log was written in a newer format than this program knows.

    Args:
        where: The log, as a URL.
        version: The version of Towpath that wrote it; empty if unknown.
        found: The format of the entry.
        known: The newest format that this program knows.
    """

    code = "ARCHIVE_NEWER"

    def __init__(self, where: str, version: str, found: int, known: int) -> None:
        needed = f"Towpath {version}" if version else "the Towpath that wrote it"
        super().__init__(
            where,
            f"an entry was written in format {found}, this program knows up to {known}; use"
            f" {needed} or newer",
        )
        self.version, self.found, self.known = version, found, known

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.version, self.found, self.known)


class WriterReplacedError(CommitLogError):
    """Another process has taken over the work of this process; the error has its host."""

    code = "ARCHIVE_REPLACED"

    def __init__(self, where: str, work: str, host: str) -> None:
        super().__init__(
            where,
            f"another process has taken over `{work}` of this archive ({host}); what this one did"
            " since then is not committed, and the other one does it",
        )
        self.work, self.host = work, host

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.work, self.host)


class CommitRefusedError(TowpathError):
    """A commit would make the archive inconsistent, which is a fault in Towpath."""

    code = "ARCHIVE_REFUSED"
    exit_code = 1

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return (
            f"the archive refused a commit that would contradict it: {self.what}; nothing was"
            " committed. Please report this"
        )
