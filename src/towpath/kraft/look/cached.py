"""Answers that are kept for some seconds, as asking for them in each look would be slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """An answer that is kept for some seconds.

    Args:
        seconds: How long.
        clock: Tells seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._told: tuple[float, T] | None = None

    def get(self, ask: Callable[[], T]) -> T:
        """Return the last answer; ask again where it is too old, or there is none."""
        if self._told is None or self._clock() - self._told[0] > self._seconds:
            self._told = self._clock(), ask()
        return self._told[1]

    def forget(self) -> None:
        """Ask the next time."""
        self._told = None
