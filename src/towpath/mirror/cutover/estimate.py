"""The estimate of a cutover's duration, from measurements of its rehearsal. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.amounts import time_left

ASSUMED = 10 << 20
"""Bytes per second if too little was read to measure the rate; most clusters are faster."""
_ENOUGH = 16 << 20
"""Bytes. With fewer bytes, the start of the tasks takes most of the time."""
_ROUND = 2.0
"""Seconds that Spark needs to begin and end a round."""
_STEP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalTimes:
    """The measurements of a rehearsal, in seconds and bytes.

    Attributes:
        look: Duration of the first look.
        plan: Duration of planning everything but records.
        spark: Duration of the remaining wait for Spark's start.
        verify: Duration of the comparison of copied records.
        read: Bytes read for the comparison, from both clusters.
        behind: Bytes still to be copied, as far as known.
        steps: The number of steps to do.
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
        """Whether too little was read to measure a rate."""
        return self.read < _ENOUGH and self.behind > ASSUMED

    def estimate(self) -> dict[str, float]:
        """Return the estimated duration of each part, in seconds."""
        rate = self.read / max(self.verify, 0.001)
        rate = max(rate, ASSUMED) if self.read < _ENOUGH else rate
        left = time_left(self.behind, rate) or 0.0
        parts = {
            "look": self.look,
            # A drain observes both clusters before and after.
            "drain": self.spark + 2 * self.plan + _ROUND + left,
            "sync": self.plan + self.steps * _STEP,
            "verify": self.verify + 2 * left,
        }
        return {part: round(seconds, 1) for part, seconds in parts.items()}
