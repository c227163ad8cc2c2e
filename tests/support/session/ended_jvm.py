"""What stands for a JVM that has ended."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JNetworkError


class Ended:
    """Something of a JVM that ended after `calls` more calls."""

    def __init__(self, calls: int = 0) -> None:
        self._left = calls

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise Py4JNetworkError("Answer from Java side is empty")
        self._left -= 1
        return self

    def end(self) -> None:
        """End now."""
        self._left = 0

    def __call__(self, *_: object, **__: object) -> Any:
        return self
