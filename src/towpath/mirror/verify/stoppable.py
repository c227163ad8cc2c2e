"""Read-only work, which can be abandoned as soon as a stop is requested."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from towpath.model.errors import StoppedError

T = TypeVar("T")
_LOOK = 0.1
_GRACE = 5.0
"""Seconds for the work to end by itself; Spark kills the worker of a cancelled task after 2."""


class _Work(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        # A daemon: a broker that answers nothing must not keep the program from its end.
        super().__init__(name="towpath-stoppable", daemon=True)
        self._work = work
        self.done: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.done.append(self._work())
        except BaseException as error:  # noqa: BLE001  # raised again by who waits
            self.error = error


def until(stop: threading.Event, what: str, work: Callable[[], T]) -> T:
    """Do work in a thread; return its result or raise its error, or stop early.

    Args:
        stop: Set to end early.
        what: What is incomplete after a stop, for the error.
        work: The work; it must change nothing, as it is abandoned if a cluster does not answer.

    Raises:
        StoppedError: The work was stopped before it was complete.
    """
    thread = _Work(work)
    thread.start()
    while thread.is_alive() and not stop.is_set():
        thread.join(_LOOK)
    thread.join(_GRACE)
    if thread.done:
        return thread.done[0]
    if stop.is_set() or thread.error is None:
        raise StoppedError(what)
    raise thread.error
