"""A meter keeps the counts of a command, for whoever asks from another thread."""

from __future__ import annotations

import time
from typing import Generic, Protocol, TypeVar

Counts = TypeVar("Counts")


class Measured(Protocol):
    """A command whose counts are served."""

    @property
    def idle(self) -> float:
        """Seconds since its main loop last went round, or since the start."""

    @property
    def ready(self) -> bool:
        """Whether it has looked at all that it works with."""


class Meter(Generic[Counts]):
    """Keeps the newest counts as a whole; it opens no connection."""

    def __init__(self) -> None:
        self._newest: Counts | None = None
        self._turned = time.monotonic()

    def tell(self, counts: Counts) -> None:
        """Take in how things stand."""
        self._newest = counts

    def turned(self) -> None:
        """Take in that the main loop has gone round once more, whatever came of that."""
        self._turned = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the main loop last went round, or since the start."""
        return time.monotonic() - self._turned

    @property
    def ready(self) -> bool:
        """Whether all was looked at that the command works with."""
        return self._newest is not None

    @property
    def newest(self) -> Counts | None:
        """The counts that came last; `None` before the first."""
        return self._newest
