"""Cycles: batches of archiving slices on Spark, several at a time.

A cycle archives the ranges of some partitions, and no two cycles have the same partition. So the
next one begins while a slow slice of the one before goes on, and partitions in trouble have cycles
of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from towpath.archive.model import PartitionId
from towpath.archive.write.slice.archive_slice import SCHEMA, archive_rows
from towpath.archive.write.slice.archive_work import EgressResult, EgressSlice
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.model.errors import TowpathError

_AT_ONCE = 2
_RETRIES_AT_ONCE = 1


@dataclass(slots=True, eq=False)
class Cycle:
    """One batch of archiving slices.

    Attributes:
        partitions: The partitions that it archives.
        retry: Whether these are partitions that were in trouble.
        slices: Number of its slices; `done`, of those that have ended.
        results: What became of the ranges, once it has ended well.
        error: Why it failed, if it did.
    """

    partitions: frozenset[PartitionId]
    retry: bool
    slices: int
    done: int = 0
    results: tuple[EgressResult, ...] = ()
    error: TowpathError | None = None
    ended: bool = field(default=False)


class Cycles:
    """Runs cycles in threads.

    Args:
        spark: The session.
        news: Set whenever a cycle has ended.
    """

    def __init__(self, spark: Any, news: threading.Event) -> None:
        self._spark, self._news = spark, news
        self._pool = ThreadPoolExecutor(
            _AT_ONCE + _RETRIES_AT_ONCE, thread_name_prefix="towpath-cycle"
        )
        self._running: list[Cycle] = []
        self._cancel = threading.Event()

    @property
    def running(self) -> Sequence[Cycle]:
        """The running cycles."""
        return tuple(self._running)

    def may_begin(self, *, retry: bool) -> bool:
        """Return whether another cycle may begin, for retries or for other partitions."""
        most = _RETRIES_AT_ONCE if retry else _AT_ONCE
        return sum(each.retry is retry for each in self._running) < most

    def begin(
        self, slices: Sequence[EgressSlice], partitions: frozenset[PartitionId], *, retry: bool
    ) -> None:
        """Begin a cycle in a thread."""
        cycle = Cycle(partitions, retry, len(slices))
        self._running.append(cycle)
        future = self._pool.submit(self._work, slices, cycle)
        future.add_done_callback(partial(self._over, cycle))

    def ended(self) -> list[Cycle]:
        """Return the cycles that have ended since the last call."""
        over = [each for each in self._running if each.ended]
        self._running = [each for each in self._running if not each.ended]
        return over

    def close(self) -> None:
        """Cancel running cycles, and wait for their end."""
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)

    def _work(self, slices: Sequence[EgressSlice], cycle: Cycle) -> None:
        def on_done(done: int, _: int) -> None:
            cycle.done = done

        rows = run_slices(self._spark, slices, archive_rows, SCHEMA, on_done, self._cancel)
        cycle.results = tuple(map(EgressResult.from_json, rows["archived"].to_pylist()))

    def _over(self, cycle: Cycle, future: Future[None]) -> None:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, TowpathError):
            cycle.error = error
        elif isinstance(error, RuntimeError):
            cycle.error = of_spark(error)
        elif error is not None:
            cycle.error = TowpathError(f"a cycle failed: {type(error).__name__}")
        cycle.ended = True
        self._news.set()
