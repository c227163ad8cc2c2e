"""What a run does beside copying, by whoever starts it: it is in rooms above that of runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from towpath.mirror.run.progress import RunProgress
from towpath.settings import LinkConfig


class RunBeside(Protocol):
    """Work in a thread of its own, for which nothing of the run waits."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for the display of the run."""

    def start(self) -> None:
        """Start the thread."""

    def finish(self, stop: threading.Event) -> None:
        """Wait until what the run has seen is done, or until `stop` is set."""

    def close(self) -> None:
        """Stop soon."""


MakeBeside = Callable[[LinkConfig, RunProgress, Callable[[], None]], RunBeside]
"""Makes it for a link, what its run sees, and what raises if the run must not write any more."""


class NothingBeside:
    """Nothing beside copying."""

    sentences: tuple[str, ...] = ()

    def __init__(self, *_: object) -> None: ...

    def start(self) -> None:
        """Start nothing."""

    def finish(self, stop: threading.Event) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """Stop nothing."""
