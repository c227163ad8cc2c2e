"""Tracking of how long a cluster has not answered."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from towpath.model.errors import UnreachableError


@dataclass(frozen=True, slots=True)
class Silence:
    """A period in which a cluster was asked and did not answer.

    Attributes:
        side: The cluster.
        broker: The broker that was asked first since the last answer of any broker.
        seconds: How long ago that was, or the last answer, whichever is later.
    """

    side: str
    broker: str
    seconds: float

    def __str__(self) -> str:
        return f"no answer from the {self.side} ({self.broker}) for {self.seconds:.0f} s"


class Answering:
    """Tracks requests to brokers and their answers; thread-safe."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._lock = threading.Lock()
        self._asked: dict[int, tuple[float, str]] = {}
        """When each request that has no answer yet was sent, and to which broker."""
        self._failed: tuple[float, str] | None = None
        """The first request since the last answer that got none."""
        self._answered = 0.0
        self._numbers = itertools.count()

    @contextmanager
    def asking(self, broker: str, wait: float = 0.0) -> Iterator[None]:
        """Track a request to a broker, in a context, that may take `wait` seconds."""
        asked, number = (time.monotonic() + wait, broker), next(self._numbers)
        with self._lock:
            self._asked[number] = asked
        answered = True
        try:
            yield
        except (OSError, UnreachableError):
            answered = False
            raise
        finally:
            with self._lock:
                del self._asked[number]
                if answered:
                    self._answered, self._failed = time.monotonic(), None
                else:
                    self._failed = self._failed or asked

    def silence(self) -> Silence | None:
        """Return how long no broker has answered; `None` if one answers or none is asked."""
        with self._lock:
            asked = [*self._asked.values(), *([self._failed] if self._failed else [])]
            answered = self._answered
        if not asked:
            return None
        first, broker = min(asked)
        seconds = time.monotonic() - max(first, answered)
        return Silence(self._side, broker, seconds) if seconds > 0 else None
