"""One time budget that goes down a chain of calls."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point of the monotonic clock; every request spends what is left of it."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that lies `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds that remain, never below zero."""
        return max(0.0, self.at - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether nothing remains."""
        return time.monotonic() >= self.at
