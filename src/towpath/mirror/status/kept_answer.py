"""An answer of brokers that callers who ask often use again for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class KeptAnswer(Generic[T]):
    """The last answer, and until when it is used again."""

    _answer: T | None = None
    _until: float = 0.0

    def get(self, ask: Callable[[], T], seconds: float) -> T:
        """Return the last answer, or ask anew where it is older than that many seconds."""
        now = time.monotonic()
        if self._answer is None or now >= self._until:
            self._answer, self._until = ask(), now + seconds
        return self._answer
