"""Background sending of record batches while further ones are packed."""

from __future__ import annotations

import queue
import threading

from towpath.cluster.admin import Admin
from towpath.cluster.codes import INVALID_RECORD
from towpath.cluster.data.client import Client
from towpath.dataframes.errors import RowError
from towpath.dataframes.sink.messages import OffsetsWritten
from towpath.dataframes.sink.packer import Sealed
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire.plain import decode

_LANES = 3
"""Requests at the same time, for different partitions."""
_WAITING = 8
"""Batches of a lane that wait at most."""


_KEYLESS = (
    "{}: {} of the {} records of a batch have no key, and the topic is compacted, which takes none"
    " (INVALID_RECORD): give them a key, or leave them out, as by `where key is not null`"
)


class BatchSender:
    """Sends record batches in background threads; those of a partition one by one, in order.

    Args:
        config: The cluster.
        admin: An admin of it.
        transactional_id: That of the transaction, `None` for none.
    """

    def __init__(self, config: ClusterConfig, admin: Admin, transactional_id: str | None) -> None:
        self._config, self._admin, self._transactional_id = config, admin, transactional_id
        self._lanes: list[_Lane] = []
        self._of: dict[TopicPartition, _Lane] = {}

    def send(self, tp: TopicPartition, batch: Sealed) -> None:
        """Queue a batch for sending; blocks while too many batches are queued.

        Raises:
            ClusterError: An earlier one was refused, or got no answer.
        """
        lane = self._of.get(tp)
        if lane is None:
            lane = self._of[tp] = self._lane()
        lane.put(tp, batch)

    def finish(self) -> list[OffsetsWritten]:
        """Wait for all answers; return the offsets of the written records.

        Raises:
            ClusterError: A batch was refused, or got no answer.
        """
        for lane in self._lanes:
            lane.end()
        for lane in self._lanes:
            lane.join()
        return [each for lane in self._lanes for each in lane.written.values()]

    def close(self) -> None:
        """Stop sending."""
        for lane in self._lanes:
            lane.stop()

    def _lane(self) -> _Lane:
        if len(self._lanes) < _LANES:
            client = Client(self._config, Side.TARGET, self._admin)
            self._lanes.append(_Lane(client, self._transactional_id))
            return self._lanes[-1]
        return self._lanes[len(self._of) % _LANES]


def _keyless(batch: memoryview) -> int:
    """Return how many records of a batch have no key."""
    return sum(record.key is None for record in decode(batch))


class _Lane:
    """One thread and what it sends."""

    def __init__(self, client: Client, transactional_id: str | None) -> None:
        self._client, self._transactional_id = client, transactional_id
        self._queue: queue.Queue[tuple[TopicPartition, Sealed] | None] = queue.Queue(_WAITING)
        self._error: Exception | None = None
        self._is_over = False
        self.written: dict[TopicPartition, OffsetsWritten] = {}
        self._thread = threading.Thread(target=self._run, name="towpath-sink", daemon=True)
        self._thread.start()

    def put(self, tp: TopicPartition, batch: Sealed) -> None:
        self._require_sound()
        self._queue.put((tp, batch))

    def end(self) -> None:
        self._queue.put(None)

    def join(self) -> None:
        self._thread.join()
        self._client.close()
        self._require_sound()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._is_over = True
            self._client.close()
            self._queue.put(None)
            self._thread.join()
        self._client.close()

    def _require_sound(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if self._error is None and not self._is_over:
                try:
                    self._send(*item)
                except Exception as error:  # noqa: BLE001, whoever waits raises it
                    self._error = error

    def _send(self, tp: TopicPartition, batch: Sealed) -> None:
        data, count = batch
        try:
            first = self._client.produce(tp, data, self._transactional_id)
        except RefusedError as error:
            if error.error == INVALID_RECORD and (keyless := _keyless(data)):
                raise RowError(_KEYLESS.format(tp, keyless, count)) from error
            raise
        before = self.written.get(tp)
        begin, records, size = first, count, len(data)
        if before is not None:
            begin, records, size = before.first, before.records + count, before.bytes + size
        self.written[tp] = OffsetsWritten(tp, begin, first + count - 1, records, size)
