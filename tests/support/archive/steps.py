"""The steps of a process at one of which it kills or freezes itself: around calls that matter."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


class KillingSteps:
    """Counts the steps of this process, and kills it at one of them.

    Args:
        step: The number of that step; 0 for none.
        number: The signal that the process sends itself there, `None` for none.

    Attributes:
        count: How many steps there were so far.
    """

    def __init__(self, step: int, number: signal.Signals | None = signal.SIGKILL) -> None:
        self._step, self._number = step, number
        self.count = 0

    def around(self, owner: Any, *names: str) -> None:
        """Count a step before and behind each call of these functions of a module or a class."""
        for name in names:
            true: Callable[..., Any] = getattr(owner, name)
            setattr(owner, name, self._counted(true))

    def _counted(self, true: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self._next()
            made = true(*args, **more)
            self._next()
            return made

        return call

    def _next(self) -> None:
        self.count += 1
        if self.count == self._step:
            self._happens()

    def _happens(self) -> None:
        if self._number is not None:
            os.kill(os.getpid(), self._number)
