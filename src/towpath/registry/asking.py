"""Concurrent requests about thousands of items, with few answers in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

from towpath.model.errors import ClusterError

T = TypeVar("T")
K = TypeVar("K")

_AHEAD = 256
"""Upper bound on the number of answers that wait for their turn."""


def answers(
    pool: Executor, things: Iterable[K], ask: Callable[[K], T]
) -> Iterator[tuple[K, T | ClusterError]]:
    """Yield each item in order, with its answer or error.

    Args:
        pool: Asks several at the same time.
        things: What is asked about.
        ask: Returns the answer; what it returns should be small.
    """

    def asked(thing: K) -> T | ClusterError:
        try:
            return ask(thing)
        except ClusterError as error:
            return error

    waiting: deque[tuple[K, Future[T | ClusterError]]] = deque()
    try:
        for thing in things:
            waiting.append((thing, pool.submit(asked, thing)))
            if len(waiting) >= _AHEAD:
                first, answer = waiting.popleft()
                yield first, answer.result()
        while waiting:
            first, answer = waiting.popleft()
            yield first, answer.result()
    finally:
        for _, answer in waiting:
            answer.cancel()
