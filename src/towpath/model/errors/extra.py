"""The error about a missing library of an optional extra."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class ExtraMissingError(TowpathError):
    """A command or store needs an extra of Towpath that is not installed.

    Args:
        what: The command, store or file that needs it.
        library: The library that was not found.
        extra: The extra that brings it.
        instead: What else would do, "" for nothing.
    """

    code = "EXTRA_MISSING"
    exit_code = 2

    def __init__(self, what: str, library: str, extra: str, instead: str = "") -> None:
        super().__init__(what, library, extra, instead)
        self.what, self.library, self.extra, self.instead = what, library, extra, instead

    def __str__(self) -> str:
        line = f"pip install 'towpath[{self.extra}]'{self.instead and f', or {self.instead}'}"
        return f"{self.what} needs {self.library}, which is not installed: {line}"
