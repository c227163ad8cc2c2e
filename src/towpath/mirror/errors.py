"""Errors about links alone.

    TowpathError
    ├── MirrorMakerRunsError        3  MirrorMaker 2 writes to the mirror topics
    └── SalvageDiffersError         3  a salvage topic does not hold what it should

The number is the exit code; see `towpath.model.errors`.
"""

from __future__ import annotations

from towpath.model.errors import TowpathError

__all__ = ["MirrorMakerRunsError", "SalvageDiffersError"]


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


class SalvageDiffersError(TowpathError):
    """A salvage topic does not hold what the losing cluster has. Nothing was decided by it.

    Args:
        place: The partition of the salvage topic.
        origin: The partition that was salvaged.
        why: How they differ.
    """

    code = "SALVAGE_DIFFERS"
    exit_code = 3

    def __init__(self, place: str, origin: str, why: str) -> None:
        super().__init__(place, origin, why)
        self.place, self.origin, self.why = place, origin, why

    def __str__(self) -> str:
        return (
            f"{self.place} does not hold what {self.origin} has: {self.why}; nothing else was"
            " changed, and both sides have all of their records. Look who else writes to that"
            " topic, or deletes from it, then give the command again"
        )
