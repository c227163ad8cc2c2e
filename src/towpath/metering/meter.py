"""The meter, which keeps a command's counts for other threads to read."""

from __future__ import annotations

import time
from typing import Generic, Protocol, TypeVar

Counts = TypeVar("Counts")


class Measured(Protocol):
    """Protocol of a command whose counts are served."""

    @property
    def idle(self) -> float:
        """Seconds since the last turn of the command's main loop, or since its start."""

    @property
    def ready(self) -> bool:
        """Whether the command has completed its first observation."""


class Meter(Generic[Counts]):
    """Keeps a command's newest counts as one value; opens no connection."""

    def __init__(self) -> None:
        self._newest: Counts | None = None
        self._turned = time.monotonic()

    def tell(self, counts: Counts) -> None:
        """Record the current counts."""
        self._newest = counts

    def turned(self) -> None:
        """Record that the main loop has completed a turn, with or without success."""
        self._turned = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the last turn of the main loop, or since the start."""
        return time.monotonic() - self._turned

    @property
    def ready(self) -> bool:
        """Whether the command has completed its first observation."""
        return self._newest is not None

    @property
    def newest(self) -> Counts | None:
        """The last recorded counts; `None` before the first."""
        return self._newest
