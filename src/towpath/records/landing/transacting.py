"""Lanes that write in transactions, because the target refuses derived producer ids.

Each transaction takes an offset for its marker, so it begins a new run in the offset map, and it
takes some requests to the coordinator. So small transactions are spaced out, and latency is worse
than with our own producer ids.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from towpath.model.errors import TowpathError
from towpath.model.nouns import TargetOffset
from towpath.records.items import Batch, TransactionalWriter
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.lane.lane import Lane

_BYTES = 4 << 20
"""Approximate upper bound on the size of a transaction."""
_AT_ONCE = 1 << 20
"""Waiting bytes for which the next transaction begins at once."""
_PAUSE = 0.1
"""Seconds between small transactions of a partition."""


class Transactor:
    """Writes the waiting batches of lanes that have a `writer`, in the reactor's pool."""

    def __init__(
        self,
        jobs: Jobs,
        clients: ClientPool,
        *,
        on_landed: Callable[[Lane], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._jobs, self._clients = jobs, clients
        self._on_landed, self._on_failed = on_landed, on_failed
        self._rested: dict[Lane, float] = {}
        """When the next small transaction of each lane may begin."""

    def go(self, lane: Lane) -> None:
        """Write the waiting batches, unless a call is running or a small transaction just ended."""
        resting = time.monotonic() < self._rested.get(lane, 0.0)
        if lane.writer is None or (resting and lane.queue.bytes < _AT_ONCE):
            return
        writer, batches = lane.writer, next_transaction(lane, _BYTES)
        if batches:
            self._jobs.hold(
                lane,
                lambda: self._write(writer, batches),
                lambda bases: self._wrote(lane, bases),
                lambda error: self._on_failed(lane, error),
            )

    def _write(self, writer: TransactionalWriter, batches: Sequence[Batch]) -> list[TargetOffset]:
        with self._clients.one() as client:
            return writer.write(client, batches)

    def _wrote(self, lane: Lane, bases: Sequence[TargetOffset]) -> None:
        lane.landed(bases)
        self._rested[lane] = time.monotonic() + _PAUSE
        self._jobs.later(lane, _PAUSE, lambda: self.go(lane))
        self._on_landed(lane)


def next_transaction(lane: Lane, most: int) -> list[Batch]:
    """Return the batches of one transaction of about `most` bytes; they are in flight now."""
    taken: list[Batch] = []
    size = 0
    while size < most and not (taken and _doubtful_head(lane)):
        lane.cutter.split_head(lane.progress.producer)
        batch = lane.next_batch()
        if batch is None:
            break
        taken.append(batch)
        size += batch.size
    return taken


def _doubtful_head(lane: Lane) -> bool:
    """Whether the next batch was damaged before: a transaction fails as a whole."""
    head = lane.queue.head
    return isinstance(head, Batch) and head.base == lane.doubted
