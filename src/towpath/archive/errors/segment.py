"""Errors of the objects that hold an archive's segments."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason


class CorruptSegmentError(TowpathError):
    """The content of a segment object does not match the object's footer.

    Args:
        name: The object: its key, or the name of a file.
        why: What is wrong with it.
    """

    code = "CORRUPT_SEGMENT"
    exit_code = 3

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name, self.why = name, why

    def __str__(self) -> str:
        return (
            f"the archived object {self.name} is damaged: {self.why}; bring back another copy of"
            " it, for example an older version that the bucket keeps"
        )


class RestoreDiffersError(TowpathError):
    """Restored records that were read back differ from the archive.

    Args:
        about: The archived partition, or the topic.
        why: Where it differs first.
    """

    code = "RESTORE_DIFFERS"
    exit_code = 3

    def __init__(self, about: str, why: str) -> None:
        super().__init__(about, why)
        self.about, self.why = about, why

    def __str__(self) -> str:
        return (
            f"{self.about}: the target differs from the archive: {self.why}; delete its topic on"
            " the target, and start the restore again"
        )


class NewerSegmentError(TowpathError):
    """A segment object was written by a newer version of Towpath.

    Args:
        name: The object: its key, or the name of a file.
        found: The version of its format.
        known: The newest version that this program reads.
    """

    code = "SEGMENT_NEWER"
    exit_code = 4

    def __init__(self, name: str, found: str, known: int) -> None:
        super().__init__(name, found, known)
        self.name, self.found, self.known = name, found, known

    def __str__(self) -> str:
        return (
            f"the archived object {self.name} has version {self.found} of the format, and this"
            f" Towpath reads up to {self.known}; use the version that wrote it, or a newer one"
        )


class TemporaryFileError(TowpathError):
    """A segment could not be kept in a temporary file until it is complete.

    Args:
        host: The machine.
        folder: The folder of its temporary files.
        why: What the system says.
    """

    code = "TEMPORARY_FILE"
    exit_code = 4

    def __init__(self, host: str, folder: str, why: str) -> None:
        super().__init__(host, folder, why)
        self.host, self.folder, self.why = host, folder, why

    def __str__(self) -> str:
        return (
            f"a temporary file in {self.folder} of {self.host} failed: {self.why}; make room there,"
            " or set TMPDIR to another folder for the workers"
        )


class WithheldError(TowpathError):
    """A part of an archive that should exist is missing or damaged.

    Args:
        first: The first offset that cannot be read.
        end: The offset behind the last one.
        why: What is wrong with it.
        is_final: Whether it is of no use to look again.
    """

    code = "ARCHIVE_LOST"
    exit_code = 3

    def __init__(
        self, first: SourceOffset, end: SourceOffset, why: Reason, *, is_final: bool = False
    ) -> None:
        super().__init__(first, end, why)
        self.first, self.end, self.why, self.is_final = first, end, why, is_final

    @property
    def reason(self) -> Reason:
        """The reason why the part cannot be read."""
        return self.why

    def __str__(self) -> str:
        return str(self.why)
