"""The offset map: which target offset belongs to which source offset, exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.ledger.entries import Run


class Exactness(StrEnum):
    """How far an answer can be relied on."""

    EXACT = "exact"
    BOUNDED = "bounded"
    BEFORE_START = "before the start"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """A translated offset; a bounded one is that of the next record that exists there."""

    offset: int
    exactness: Exactness
    why: str = ""


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """All runs of one partition, ascending and without overlap."""

    runs: tuple[Run, ...] = ()
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())
    _target_starts: tuple[int, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", tuple(run[0] for run in self.runs))
        object.__setattr__(self, "_target_starts", tuple(run[1] for run in self.runs))

    @classmethod
    def of(cls, runs: Iterable[Run]) -> OffsetMap:
        """Build a map of runs that may come twice, in any order, shorter and longer."""
        kept: list[Run] = []
        for run in sorted(r for r in runs if r[2] > 0):
            if (
                kept
                and kept[-1][1] - kept[-1][0] == run[1] - run[0]
                and run[0] <= sum(kept[-1][::2])
            ):
                length = max(sum(kept[-1][::2]), run[0] + run[2]) - kept[-1][0]
                kept[-1] = (*kept[-1][:2], length)
            else:
                kept.append(run)
        return cls(tuple(kept))

    def to_target(self, offset: int) -> Answer:
        """Translate a source offset (that of the next record to read)."""
        return _translate(offset, self._starts, self.runs, forward=True)

    def to_source(self, offset: int) -> Answer:
        """Translate a target offset (that of the next record to read)."""
        return _translate(offset, self._target_starts, self.runs, forward=False)


def _translate(
    offset: int, starts: tuple[int, ...], runs: tuple[Run, ...], *, forward: bool
) -> Answer:
    if not runs:
        return Answer(-1, Exactness.UNKNOWN, "nothing was copied yet")
    here, there = (0, 1) if forward else (1, 0)
    if offset < starts[0]:
        return Answer(runs[0][there], Exactness.BEFORE_START, f"copying began at {starts[0]}")
    index = bisect_right(starts, offset) - 1
    run = runs[index]
    inside = offset - run[here]
    if inside <= run[2]:
        return Answer(run[there] + inside, Exactness.EXACT)
    if index + 1 < len(runs):
        following = runs[index + 1]
        return Answer(
            following[there],
            Exactness.BOUNDED,
            f"no record was copied between {run[here] + run[2]} and {following[here]}",
        )
    return Answer(
        run[there] + run[2], Exactness.UNKNOWN, f"copied up to {run[here] + run[2]} so far"
    )
