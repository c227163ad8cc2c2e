"""Detection of a silent registry, so that further calls fail fast."""

from __future__ import annotations

import threading
import time

_PROBE = 1.0
"""Seconds between two calls that try a registry which is away."""


class Away:
    """Detects that a registry does not answer; thread-safe.

    One call that is never answered says nothing of the registry: it may be about a damaged subject.
    Many in a row, with no answer between them, do.

    Args:
        most: Number of calls in a row without an answer after which it is away.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._silent, self._why, self._next = 0, "", 0.0

    def __bool__(self) -> bool:
        return self._silent >= self._most

    def refuses(self) -> str:
        """Return why calls should fail now, "" if not; one call a second may probe."""
        with self._lock:
            now = time.monotonic()
            if not self or now >= self._next:
                self._next = now + _PROBE
                return ""
            return self._why

    def heard(self) -> None:
        """Record that the registry answered."""
        self._silent = 0

    def silent(self, why: str) -> None:
        """Record that the registry gave no usable answer before a deadline."""
        with self._lock:
            self._silent += 1
            self._why, self._next = why, time.monotonic() + _PROBE
