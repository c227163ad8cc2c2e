"""Pool of reusable memory, as fresh pages cost more than the bytes in them.

The collectors of a process share it, as each has much only for a moment. It keeps a bounded amount.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Spares(Generic[T]):
    """A bounded pool of unused objects; thread-safe."""

    def __init__(self, most: int) -> None:
        self._free: deque[T] = deque(maxlen=most)

    def take(self) -> T | None:
        """Return an unused object, `None` if there is none."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def give(self, thing: T) -> bool:
        """Return an unused object to the pool; return whether it is kept."""
        if len(self._free) == self._free.maxlen:
            return False
        self._free.append(thing)
        return True
