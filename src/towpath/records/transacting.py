"""Lanes whose target refuses our producer ids: what waits goes out in transactions, one at a time.

Each transaction costs an offset for its marker, and so a run in the offset map, and some requests
to the coordinator. So small ones are held apart: latency is worse here than with our own ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from towpath.cluster.reactor import Reactor
from towpath.model.errors import ClusterError
from towpath.records.clients import Clients
from towpath.records.lane import Lane
from towpath.records.queue import Batch
from towpath.records.writing import PartitionWriter, TooLargeError

_BYTES = 4 << 20
"""About the largest transaction."""
_AT_ONCE = 1 << 20
"""When so many bytes wait, the next transaction does."""
_PAUSE = 0.1
"""Seconds between small transactions of a partition."""


class Transactor:
    """Writes what waits in lanes that have a `writer`, in the reactor's pool."""

    def __init__(
        self,
        reactor: Reactor,
        clients: Clients,
        *,
        on_landed: Callable[[Lane], None],
        on_failed: Callable[[Lane, ClusterError | TooLargeError], None],
    ) -> None:
        self._reactor, self._clients = reactor, clients
        self._on_landed, self._on_failed = on_landed, on_failed
        self._resting: set[Lane] = set()

    def go(self, lane: Lane) -> None:
        """Write what waits, unless something is under way or the last time was just now."""
        if lane.writer is None or (lane in self._resting and lane.queue.bytes < _AT_ONCE):
            return
        writer, batches = lane.writer, lane.next_transaction(_BYTES)
        if batches:
            lane.busy = True
            self._reactor.run(
                lambda: self._write(writer, batches), lambda future: self._wrote(lane, future)
            )

    def _write(self, writer: PartitionWriter, batches: Sequence[Batch]) -> list[int]:
        with self._clients.one() as client:
            return writer.write(client, batches)

    def _wrote(self, lane: Lane, future: Future[list[int]]) -> None:
        lane.busy = False
        error = future.exception()
        if self._clients.closed:
            return
        if error is None:
            lane.landed(future.result())
            self._rest(lane)
            self._on_landed(lane)
        elif not isinstance(error, (ClusterError, TooLargeError)):
            raise error
        elif not lane.progress.stopped:
            self._on_failed(lane, error)

    def _rest(self, lane: Lane) -> None:
        if lane not in self._resting:
            self._resting.add(lane)
            self._reactor.later(_PAUSE, lambda: self._wake(lane))

    def _wake(self, lane: Lane) -> None:
        self._resting.discard(lane)
        self.go(lane)
