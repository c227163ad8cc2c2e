"""Memory that is used again: fresh pages cost more than the bytes that go into them.

The collectors of a process share it, as each has much only for a moment. It keeps a bounded amount.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Spares(Generic[T]):
    """Things that nobody uses, up to a number. Threads may share them."""

    def __init__(self, most: int) -> None:
        self._free: deque[T] = deque(maxlen=most)

    def take(self) -> T | None:
        """Return one of them, None if there is none."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def give(self, thing: T) -> bool:
        """Take back a thing that nobody uses any more. Returns whether it is kept."""
        if len(self._free) == self._free.maxlen:
            return False
        self._free.append(thing)
        return True
