"""Answers cached for some seconds, as repeating each request would be slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """An answer that is cached for some seconds.

    Args:
        seconds: How long.
        clock: Tells seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._told: tuple[float, T] | None = None

    def get(self, ask: Callable[[], T]) -> T:
        """Return the cached answer; ask again if it is missing or too old."""
        if self._told is None or self._clock() - self._told[0] > self._seconds:
            self._told = self._clock(), ask()
        return self._told[1]

    def forget(self) -> None:
        """Drop the cached answer."""
        self._told = None
