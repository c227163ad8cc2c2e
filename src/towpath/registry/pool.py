"""Thread pool for concurrent registry calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class AskingPool(Executor):
    """A thread pool whose running calls are never waited for.

    Unlike those of Python's own pool, nobody waits for these threads, neither who closes the pool
    nor the end of the program: a registry that accepts connections and never answers would keep
    both for a minute or longer. Calls that have not begun when the pool is closed are cancelled.

    Args:
        most: The most threads.
        name: Beginning of their names.
    """

    def __init__(self, most: int, name: str = "towpath-schemas") -> None:
        self._most, self._name = most, name
        self._lock = threading.Lock()
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = self._busy = 0
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start a call in the pool, and return its future.

        Raises:
            RuntimeError: The pool is closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._busy += 1
            if self._threads < min(self._most, self._busy):
                self._threads += 1
                name = f"{self._name}-{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            self._work.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Close the pool without waiting for running calls."""
        del wait, cancel_futures
        with self._lock:
            self._closed = True
            while not self._work.empty():
                if (item := self._work.get()) is not None:
                    item[0].cancel()
            for _ in range(self._threads):
                self._work.put(None)

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001  # raised by who waits
                    future.set_exception(error)
            with self._lock:
                self._busy -= 1
