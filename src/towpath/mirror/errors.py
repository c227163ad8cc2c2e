"""Errors about links alone.

    TowpathError
    └── MirrorMakerRunsError        3  MirrorMaker 2 writes to the mirror topics

The number is the exit code; see `towpath.model.errors`.
"""

from __future__ import annotations

from towpath.model.errors import TowpathError

__all__ = ["MirrorMakerRunsError"]


class MirrorMakerRunsError(TowpathError):
    """MirrorMaker 2 still runs, or another producer writes to the mirror topics: `why`."""

    code = "MM2_RUNS"
    exit_code = 3

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"MirrorMaker 2 runs: {self.why}; stop it in good order, so that it notes how far it"
            " came, and all other producers of the mirror topics"
        )
