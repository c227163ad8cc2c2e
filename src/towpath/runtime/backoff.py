"""The pauses before retries of failed operations."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.runtime.chance import CHANCE

_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class BackOff:
    """Pauses that double with each consecutive failure.

    Attributes:
        first: Seconds after the first failure.
        longest: Upper bound, in seconds.
        jitter: Each pause is longer or shorter by up to this share, chosen at random.
    """

    first: float
    longest: float
    jitter: float = 0.0

    def after(self, failures: int) -> float:
        """Return the seconds to wait after a number of consecutive failures, 1 or more."""
        pause = min(self.longest, self.first * 2.0 ** min(failures - 1, _DOUBLINGS))
        return pause * CHANCE.uniform(1 - self.jitter, 1 + self.jitter)
