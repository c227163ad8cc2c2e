"""A meter that keeps the counts that a run told last, for whoever asks from another thread."""

from __future__ import annotations

import time
from typing import Generic, TypeVar

Counts = TypeVar("Counts")


class ToldMeter(Generic[Counts]):
    """Keeps the counts that a run tells as a whole; it opens no connection."""

    def __init__(self) -> None:
        self._reading: Counts | None = None
        self._turned = time.monotonic()

    def tell(self, reading: Counts) -> None:
        """Take in how things stand."""
        self._reading = reading

    def turned(self) -> None:
        """Take in that the main loop has gone round once more."""
        self._turned = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the main loop last went round, or since the start."""
        return time.monotonic() - self._turned

    @property
    def ready(self) -> bool:
        """Whether all was looked at that the run works with."""
        return self._reading is not None

    def last(self) -> Counts | None:
        """Return what was told last."""
        return self._reading
