"""An event loop that waits for sockets, timers and finished background calls."""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")
THREADS = 4


class Pollable(Protocol):
    """An object with a file descriptor that the reactor can wait for."""

    def fileno(self) -> int:
        """Return the file descriptor."""

    def on_ready(self, *, readable: bool, writable: bool) -> None:
        """Read and write as much as possible without blocking."""


class Reactor:
    """Event loop with a selector, timers, and a small pool for blocking calls.

    All callbacks run in the thread that calls `turn`; only `run` hands work to the pool. Other
    threads may call `soon` and nothing else.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()
        self._done: deque[Callable[[], None]] = deque()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="towpath")
        self._closing = threading.Lock()
        self._closed = False

    def watch(self, thing: Pollable, *, write: bool) -> None:
        """Watch a socket for readability, and with `write` also for writability."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if write else 0)
        if thing.fileno() in self._selector.get_map():
            self._selector.modify(thing.fileno(), events, thing)
        else:
            self._selector.register(thing.fileno(), events, thing)

    def forget(self, thing: Pollable) -> None:
        """Stop watching a socket, which must still be open."""
        if thing.fileno() in self._selector.get_map():
            self._selector.unregister(thing.fileno())

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function once, `seconds` from now."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._serial), call))

    def run(
        self,
        work: Callable[[], T],
        then: Callable[[Future[T]], None],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        """Do blocking `work` in a pool, then call `then` in the reactor's thread."""

        def finished(future: Future[T]) -> None:
            if future.cancelled():
                return  # it had not begun when the reactor was closed
            if not self.soon(lambda: then(future)):
                then(future)  # the owner is closed by now, and closes late results itself

        (pool or self._pool).submit(work).add_done_callback(finished)

    def soon(self, call: Callable[[], None]) -> bool:
        """Call a function in the reactor's thread; return `False` if the reactor is closed.

        Any thread may call this.
        """
        with self._closing:
            if not self._closed:
                self._done.append(call)
                os.write(self._wake_write, b"\0")
            return not self._closed

    def turn(self, longest: float) -> None:
        """Wait at most `longest` seconds for events, and handle them."""
        if self._timers:
            longest = min(longest, max(0.0, self._timers[0][0] - time.monotonic()))
        for key, events in self._selector.select(longest):
            if key.fd == self._wake_read:
                os.read(self._wake_read, 4096)
            else:
                key.data.on_ready(
                    readable=bool(events & selectors.EVENT_READ),
                    writable=bool(events & selectors.EVENT_WRITE),
                )
        while self._done:
            self._done.popleft()()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()

    def close(self) -> None:
        """Close everything that the reactor owns; running calls end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._closing:
            self._closed = True
            self._selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
        while self._done:
            self._done.popleft()()
