"""A time budget that is passed down a chain of calls."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Deadline:
    """A point of the monotonic clock, which limits a chain of requests.

    One thread uses it. It moves only by time that does not count (`put_off`).
    """

    at: float
    _whole: Deadline | None = None

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that lies `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def share(self, parts: int) -> Deadline:
        """Return a deadline for the first of `parts` equal shares of the remaining time."""
        return Deadline(time.monotonic() + self.left() / parts, self)

    def put_off(self, seconds: float) -> None:
        """Extend this deadline, and the one that it is a share of, by `seconds`."""
        self.at += seconds
        if self._whole is not None:
            self._whole.put_off(seconds)

    def left(self) -> float:
        """Return the remaining seconds, never below zero."""
        return max(0.0, self.at - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether no time remains."""
        return time.monotonic() >= self.at
