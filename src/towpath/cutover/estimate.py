"""How long a cutover would take, by what its rehearsal measured. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.status.status import PartitionStatus

ASSUMED = 10 << 20
"""Bytes per second where too little is copied to measure by: less than most clusters do."""
_ENOUGH = 16 << 20
"""Of fewer bytes the start of the tasks takes most of the time."""
_ROUND = 2.0
"""Seconds in which Spark begins a round and ends it."""
_STEP = 0.1
_RECORD = 1000
"""Bytes of a record where none was copied yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalTimes:
    """What a rehearsal measured, in seconds and bytes.

    Attributes:
        look: How long the first look took.
        plan: How long it took to compare everything but records.
        spark: How long Spark was still waited for then.
        verify: How long it took to compare what is copied.
        read: Bytes that were read for that, of both sides.
        behind: Bytes that are not copied yet, as far as that can be told.
        steps: Steps about everything but records.
    """

    look: float
    plan: float
    spark: float
    verify: float
    read: int
    behind: float
    steps: int

    @property
    def assumed(self) -> bool:
        """Whether too little was read to tell how fast records come and go."""
        return self.read < _ENOUGH and self.behind > ASSUMED

    def estimate(self) -> dict[str, float]:
        """Return the seconds of each part."""
        rate = self.read / max(self.verify, 0.001)
        rate = max(rate, ASSUMED) if self.read < _ENOUGH else rate
        parts = {
            "look": self.look,
            # A drain looks at both clusters before and behind.
            "drain": self.spark + 2 * self.plan + _ROUND + self.behind / rate,
            "sync": self.plan + self.steps * _STEP,
            "verify": self.verify + 2 * self.behind / rate,
        }
        return {part: round(seconds, 1) for part, seconds in parts.items()}


def bytes_behind(row: PartitionStatus) -> float:
    """Estimate what a mirror topic lacks by what it has."""
    return max(0, row.lag_records) * (row.bytes / row.records if row.records else _RECORD)
